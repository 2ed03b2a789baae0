#include "buckets/buckets_report.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/paths.h"
#include "output/escape.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

constexpr double kBarWidth = 30;
constexpr double kManyOthers = 0.3;

double Ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

Cell OrNull(std::optional<std::int64_t> value) {
  Cell cell;
  if (value) {
    cell = *value;
  }
  return cell;
}

// Eighths of a cell, so that small rows still differ.
std::string Bar(std::int64_t bytes, std::int64_t largest, bool hollow) {
  constexpr std::string_view kFull = "█";
  constexpr std::string_view kHollow = "░";
  constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (bytes <= 0 || largest <= 0) {
    return {};
  }
  const auto eighths = static_cast<std::size_t>(std::lround(Ratio(bytes, largest) * kBarWidth * 8));
  std::string bar;
  for (std::size_t i = 0; i < eighths / 8; ++i) {
    bar += hollow ? kHollow : kFull;
  }
  if (hollow) {
    return bar.empty() ? std::string(kHollow) : bar;
  }
  return bar + std::string(kParts[eighths % 8]);
}

// Named ones by size, then Others.
std::vector<const Bucket*> Ordered(const BucketAxis& axis) {
  std::vector<const Bucket*> buckets;
  for (const Bucket& bucket : axis.buckets) {
    buckets.push_back(&bucket);
  }
  std::stable_sort(buckets.begin(), buckets.end(), [](const Bucket* a, const Bucket* b) {
    return std::tuple(a->others, -a->sum.bytes) < std::tuple(b->others, -b->sum.bytes);
  });
  return buckets;
}

std::string EntriesJson(const Bucket& bucket, std::size_t most) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  const auto text = [&json](std::string_view bytes) {
    const std::string utf8 = ToUtf8(bytes);
    json.String(utf8.data(), static_cast<rapidjson::SizeType>(utf8.size()));
  };
  json.StartArray();
  for (std::size_t i = 0; i < std::min(most, bucket.entries.size()); ++i) {
    const BucketEntry& entry = bucket.entries[i];
    json.StartObject();
    json.Key("name");
    text(entry.name);
    json.Key("file");
    text(entry.file);
    json.Key("bytes");
    json.Int64(entry.sum.bytes);
    json.Key("count");
    json.Int64(entry.sum.count);
    json.EndObject();
  }
  json.EndArray();
  return {buffer.GetString(), buffer.GetSize()};
}

class Filler {
 public:
  Filler(const Session& session, const BucketTable& table, const std::optional<Expected>& expected,
         const BucketStyle& style, Report& report)
      : session_(session), table_(table), expected_(expected), style_(style), report_(report) {}

  void Fill(const std::vector<BucketAxis>& axes) {
    const bool several = axes.size() > 1;
    report_.columns = {{"axis", several ? "AXIS" : "", true},
                       {"bucket", "BUCKET", true, true},
                       {"bytes", "SIZE"},
                       {"", "SHARE"},
                       {.key = "", .title = "OF ALL", .left = true, .drop = 2},
                       {.key = "count", .title = "COUNT", .drop = 1},
                       {"unknown", ""},
                       {"entries", ""}};
    if (!style_.nested_entries) {
      report_.columns.pop_back();
    }
    report_.measure = 2;
    for (const BucketAxis& axis : axes) {
      report_.blocks.push_back(report_.rows.size());
      AddAxis(axis);
    }
  }

 private:
  [[nodiscard]] std::int64_t tracked() const { return table_.total().bytes; }
  [[nodiscard]] std::int64_t untrackable() const {
    return SaturatingSubtract(expected_->bytes, tracked());
  }
  [[nodiscard]] std::int64_t whole() const {
    return expected_ && style_.percent_of_expected ? expected_->bytes : tracked();
  }

  void AddAxis(const BucketAxis& axis) {
    largest_ = expected_ ? untrackable() : 0;
    for (const Bucket& bucket : axis.buckets) {
      largest_ = std::max(largest_, bucket.sum.bytes);
    }
    std::string empty;
    for (const Bucket* bucket : Ordered(axis)) {
      if (!style_.nested_entries && bucket->entries.empty()) {
        empty += bucket->others ? "" : (empty.empty() ? "" : ", ") + bucket->name;
        continue;
      }
      AddRow(axis.name, bucket->name, bucket->sum, false, EntriesJson(*bucket, style_.entries));
      if (!style_.nested_entries) {
        AddEntries(*bucket);
      }
    }
    if (!empty.empty()) {
      report_.foot.push_back("nothing in " + empty);
    }
    if (expected_) {
      AddRow(axis.name, kUntrackable, {.bytes = untrackable()}, true, "[]");
    }
  }

  void AddRow(std::string_view axis, std::string_view name, const BucketSum& sum, bool hollow,
              std::string entries) {
    const auto count = hollow ? std::nullopt : std::optional(sum.count);
    std::vector<Cell> row{std::string(axis),
                          std::string(name),
                          MakeAmount(session_, sum.bytes),
                          Percent{Ratio(sum.bytes, whole())},
                          Bar(sum.bytes, largest_, hollow),
                          OrNull(count),
                          sum.unknown};
    if (style_.nested_entries) {
      row.emplace_back(RawJson{std::move(entries)});
    }
    report_.rows.push_back(std::move(row));
  }

  void AddEntries(const Bucket& bucket) {
    const std::size_t shown = std::min(style_.entries, bucket.entries.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const BucketEntry& entry = bucket.entries[i];
      std::string name = entry.file.empty() ? entry.name : NameText(entry.name);
      if (!entry.file.empty()) {
        name += "  " + PlaceText(entry.file, 0);
      }
      report_.rows.push_back({std::string(), "  " + name, MakeAmount(session_, entry.sum.bytes),
                              Percent{Ratio(entry.sum.bytes, whole())}, std::string(),
                              entry.sum.count, entry.sum.unknown});
    }
    if (shown > 0 && shown < bucket.entries.size()) {
      std::int64_t rest = bucket.sum.bytes;
      for (std::size_t i = 0; i < shown; ++i) {
        rest = SaturatingSubtract(rest, bucket.entries[i].sum.bytes);
      }
      const auto more = static_cast<std::int64_t>(bucket.entries.size() - shown);
      report_.rows.push_back({std::string(), fmt::format("  … {} more", FormatCount(more)),
                              MakeAmount(session_, rest), Percent{Ratio(rest, whole())},
                              std::string(), Cell{}, std::int64_t{0}});
    }
  }

  const Session& session_;
  const BucketTable& table_;
  const std::optional<Expected>& expected_;
  const BucketStyle& style_;
  Report& report_;
  std::int64_t largest_ = 0;
};

// "layer: ", when there is more than one axis.
std::string AxisPrefix(const std::vector<BucketAxis>& axes, const BucketAxis& axis) {
  return axes.size() > 1 ? axis.name + ": " : std::string();
}

void NoteAxes(const Session& session, const BucketTable& table, const std::vector<BucketAxis>& axes,
              Report& report) {
  const std::int64_t tracked = table.total().bytes;
  const std::int64_t unnamed = table.UnnamedBytes();
  for (const BucketAxis& axis : axes) {
    const Bucket& others = axis.buckets.back();
    const std::string prefix = AxisPrefix(axes, axis);
    if (axis.repeated != 0) {
      report.foot.push_back(fmt::format("{}{} counted more than once (--multi all)", prefix,
                                        AmountText(session, axis.repeated)));
    } else if (axis.ambiguous != 0) {
      report.foot.push_back(
          fmt::format("{}{} matches several categories; the first in the file has it (--explain "
                      "BUCKET shows which)",
                      prefix, AmountText(session, axis.ambiguous)));
    }
    const std::int64_t lost = std::max(others.sum.bytes, unnamed);
    if (tracked > 0 && Ratio(lost, tracked) > kManyOthers) {
      report.foot.push_back(
          unnamed * 2 > lost
              ? fmt::format("{}{} has no name: MXNet's imperative calls (NDArray functions) are "
                            "tagged as unknown; its call-stack log tells where they are made",
                            prefix, AmountText(session, unnamed))
              : fmt::format("{}Others is {:.0f}%: no word matches it; --entries 5 lists what it "
                            "holds",
                            prefix, 100.0 * Ratio(others.sum.bytes, tracked)));
    }
  }
}

// Buckets that hold something in any input: the legend lists no others.
std::set<std::string> FilledBuckets(const std::vector<BucketAxis>& inputs) {
  std::set<std::string> filled;
  for (const BucketAxis& axis : inputs) {
    for (const Bucket& bucket : axis.buckets) {
      if (!bucket.entries.empty()) {
        filled.insert(bucket.name);
      }
    }
  }
  return filled;
}

StackedBar BarOf(const BucketAxis& axis, const std::set<std::string>& filled) {
  StackedBar bar;
  for (const Bucket& bucket : axis.buckets) {
    if (filled.contains(bucket.name)) {
      bar.segments.push_back(
          {.name = bucket.name,
           .bytes = bucket.sum.bytes,
           .style = bucket.others ? BarSegment::Style::kOthers : BarSegment::Style::kNamed});
    }
  }
  return bar;
}

}  // namespace

void FillBuckets(const Session& session, const BucketTable& table,
                 const std::vector<BucketAxis>& axes, const std::optional<Expected>& expected,
                 const BucketStyle& style, Report& report) {
  Filler(session, table, expected, style, report).Fill(axes);
  const std::int64_t tracked = table.total().bytes;
  std::int64_t ambiguous = 0;
  std::int64_t repeated = 0;
  for (const BucketAxis& axis : axes) {
    ambiguous = SaturatingAdd(ambiguous, axis.ambiguous);
    repeated = SaturatingAdd(repeated, axis.repeated);
  }
  std::optional<std::int64_t> expected_sum;
  std::optional<std::int64_t> untrackable;
  if (expected) {
    expected_sum = expected->bytes;
    untrackable = SaturatingSubtract(expected->bytes, tracked);
  }
  report.totals = {{"total", tracked},
                   {"expected_sum", OrNull(expected_sum)},
                   {"untrackable", OrNull(untrackable)},
                   {"ambiguous_bytes", ambiguous},
                   {"repeated_bytes", repeated}};
  if (expected) {
    const std::int64_t over = SaturatingSubtract(tracked, expected->bytes);
    report.foot.push_back(
        over > expected->precision
            ? fmt::format("over-accounted by {}: {}", AmountText(session, over), style.over_reason)
            : std::string("Untrackable: what the device has and this input does not: context, "
                          "libraries, fragmentation, other allocators"));
  }
  NoteAxes(session, table, axes, report);
}

BarChart ChartOf(const std::vector<BucketTable>& tables, const std::vector<std::string>& names,
                 const std::optional<Expected>& expected, bool percent_of_expected, SizeUnit unit) {
  BarChart chart{.unit = unit};
  if (expected) {
    chart.subtitle = "expected " + FormatSize(expected->bytes, unit);
  }
  const Dictionary& dictionary = tables.front().keywords().dictionary();
  for (std::size_t a = 0; a < dictionary.axes.size(); ++a) {
    std::vector<BucketAxis> inputs;
    inputs.reserve(tables.size());
    for (const BucketTable& table : tables) {
      inputs.push_back(table.AxisAt(a));
    }
    BarPanel panel{.title = dictionary.axes[a].name};
    const std::set<std::string> filled = FilledBuckets(inputs);
    for (std::size_t t = 0; t < tables.size(); ++t) {
      StackedBar bar = BarOf(inputs[t], filled);
      bar.name = BaseName(names[t]);
      bar.percent_base = tables[t].total().bytes;
      if (expected) {
        bar.segments.push_back(
            {.name = std::string(kUntrackable),
             .bytes = SaturatingSubtract(expected->bytes, tables[t].total().bytes),
             .style = BarSegment::Style::kUntrackable});
        bar.percent_base = percent_of_expected ? expected->bytes : bar.percent_base;
      }
      panel.bars.push_back(std::move(bar));
    }
    chart.panels.push_back(std::move(panel));
  }
  return chart;
}

void FillExplanation(const Session& session, const std::vector<Explanation>& rows, Report& report) {
  report.columns = {{"bytes", "SIZE"},
                    {.key = "count", .title = "COUNT", .drop = 1},
                    {"axis", "AXIS", true, true},
                    {"bucket", "BUCKET", true},
                    {"word", "WORD", true, true},
                    {"matched", "FOUND IN", true, true},
                    {"entry", ""},
                    {"", "ROW", true, true},
                    {"also", "ALSO IN", true, true}};
  for (const Explanation& row : rows) {
    report.rows.push_back({MakeAmount(session, row.sum.bytes), row.sum.count, row.axis, row.bucket,
                           row.word, NameText(row.matched), row.entry,
                           row.entry == row.matched ? std::string() : NameText(row.entry),
                           row.also});
  }
}

}  // namespace memtool::commands
