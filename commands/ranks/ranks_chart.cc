#include <fmt/format.h>

#include "memtool/profile/base/arithmetic.h"
#include "ranks/ranks_words.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxBars = 64;

StackedBar MakeBar(std::string name, std::int64_t peak, std::int64_t reserved) {
  StackedBar bar{.name = std::move(name)};
  bar.segments.push_back({.name = "live at the peak", .bytes = peak});
  if (reserved > peak) {
    bar.segments.push_back({.name = "reserved beyond it",
                            .bytes = SaturatingSubtract(reserved, peak),
                            .style = BarSegment::Style::kOthers});
  }
  return bar;
}

}  // namespace

BarChart MakeChart(const RanksAnswer& answer, SizeUnit unit) {
  BarChart chart{.title = Counted(answer.ranks.size(), "rank"), .unit = unit};
  const bool each = answer.ranks.size() <= kMaxBars;
  BarPanel panel{.title = each ? "rank" : "class, with its ranks"};
  if (each) {
    for (const RankFacts& rank : answer.ranks) {
      panel.bars.push_back(MakeBar(fmt::to_string(rank.rank), rank.peak, rank.reserved_peak));
    }
  } else {
    for (const RankClassFacts& one : answer.classes) {
      panel.bars.push_back(MakeBar(RangesText(one.ranks), one.peak, one.reserved_peak));
    }
  }
  chart.panels.push_back(std::move(panel));
  return chart;
}

}  // namespace memtool::commands
