#include "buckets/buckets_chart.h"

#include <set>
#include <string>
#include <utility>

#include "memtool/profile/base/paths.h"

namespace memtool::commands {

namespace {

BarSegment::Style GetStyle(BucketRow::Kind kind) {
  switch (kind) {
    case BucketRow::Kind::kUnmatched:
      return BarSegment::Style::kOthers;
    case BucketRow::Kind::kUntracked:
      return BarSegment::Style::kUntrackable;
    case BucketRow::Kind::kCategory:
      break;
  }
  return BarSegment::Style::kNamed;
}

// Buckets that hold something in any input: the legend lists no others.
std::set<std::string> FilledBuckets(const BucketsAnswer& answer, const std::string& axis) {
  std::set<std::string> filled;
  for (const BucketsPart& part : answer.parts) {
    for (const BucketRow& row : part.rows) {
      if (row.axis == axis && !row.is_empty()) {
        filled.insert(row.name);
      }
    }
  }
  return filled;
}

}  // namespace

BarChart MakeChart(const BucketsAnswer& answer, SizeUnit unit) {
  BarChart chart{.unit = unit};
  if (answer.expected) {
    chart.subtitle = "expected " + FormatSize(*answer.expected, unit);
  }
  for (const BucketsAxis& axis : answer.axes) {
    BarPanel panel{.title = axis.name};
    const std::set<std::string> filled = FilledBuckets(answer, axis.name);
    for (const BucketsPart& part : answer.parts) {
      StackedBar bar{.name = std::string(BaseName(part.input)), .percent_base = part.whole};
      for (const BucketRow& row : part.rows) {
        if (row.axis == axis.name && filled.contains(row.name)) {
          bar.segments.push_back(
              {.name = row.name, .bytes = row.sum.bytes, .style = GetStyle(row.kind)});
        }
      }
      panel.bars.push_back(std::move(bar));
    }
    chart.panels.push_back(std::move(panel));
  }
  return chart;
}

}  // namespace memtool::commands
