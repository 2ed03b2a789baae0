#include "memtool/profile/steps/compare.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/replay.h"
#include "support/make_history.h"

namespace memtool {
namespace {

constexpr std::uint32_t kSeeds = 60;

// What the kinds of what is live at a moment add up to, by ChangeKind.
template <class Kind>
std::array<std::int64_t, 4> ComputeSums(const HistorySide& side, std::int64_t event, Kind kind) {
  std::array<std::int64_t, 4> sums{};
  for (const LiveBlock& block : side.index->replay(*side.trace).LiveAt(event)) {
    const bool known = block.event && !block.before_recording;
    const ChangeKind of = kind(
        known ? std::optional(static_cast<std::uint32_t>(*block.event - side.trace->first_event))
              : std::nullopt);
    sums.at(static_cast<std::size_t>(of)) += block.size;
  }
  return sums;
}

// Whatever is compared: every byte is a difference of two sums. Returns how many pairs there were.
std::size_t Check(const HistoryIndex& base, const HistoryIndex& now) {
  const HistorySide one{&base, base.history().traces.data()};
  const HistorySide other{&now, now.history().traces.data()};
  const HistoryComparison compared(one, other);
  if (!compared.corresponds()) {
    return 0;
  }
  for (const PairedStep& pair : compared.pairs()) {
    const ProgramStep& left = compared.base_steps().steps[pair.base];
    const ProgramStep& right = compared.now_steps().steps[pair.now];
    EXPECT_EQ(pair.all.matched + pair.all.removed, left.count);
    EXPECT_EQ(pair.all.matched + pair.all.added, right.count);
    EXPECT_EQ(pair.all.changed_bytes + pair.all.added_bytes - pair.all.removed_bytes,
              right.allocated - left.allocated);
    const PeakChange& peak = pair.peak;
    EXPECT_EQ(peak.live.changed_bytes + peak.live.added_bytes - peak.live.removed_bytes +
                  peak.held + peak.before,
              peak.delta());
    const auto of_base = ComputeSums(one, peak.base_event,
                                     [&](auto event) { return compared.KindInBase(pair, event); });
    const auto of_now = ComputeSums(other, peak.now_event,
                                    [&](auto event) { return compared.KindInNow(pair, event); });
    const auto delta = [&](ChangeKind kind) {
      const auto row = static_cast<std::size_t>(kind);
      return of_now.at(row) - of_base.at(row);
    };
    EXPECT_EQ(delta(ChangeKind::kChanged), peak.live.changed_bytes);
    EXPECT_EQ(delta(ChangeKind::kUnmatched), peak.live.added_bytes - peak.live.removed_bytes);
    EXPECT_EQ(delta(ChangeKind::kHeld), peak.held);
    EXPECT_EQ(delta(ChangeKind::kBefore), peak.before);
  }
  return compared.pairs().size();
}

TEST(HistoryComparison, EveryByteIsADifferenceOfSums) {
  std::size_t pairs = 0;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const HistoryIndex base(test::RandomHistory(seed));
    const HistoryIndex now(test::RandomHistory(seed + kSeeds));
    pairs += Check(base, now);
  }
  EXPECT_GT(pairs, kSeeds / 2);
}

TEST(HistoryComparison, OfAHistoryWithItself) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const HistoryIndex base(test::RandomHistory(seed));
    const HistoryIndex now(test::RandomHistory(seed));
    const HistoryComparison compared({&base, base.history().traces.data()},
                                     {&now, now.history().traces.data()});
    if (!compared.corresponds()) {
      continue;
    }
    for (const PairedStep& pair : compared.pairs()) {
      EXPECT_EQ(pair.base, pair.now);
      EXPECT_EQ(pair.all.changed + pair.all.added + pair.all.removed, 0U);
      EXPECT_EQ(pair.peak.delta(), 0);
      EXPECT_EQ(pair.peak.held, 0);
      EXPECT_TRUE(pair.complete);
    }
  }
}

TEST(KeyShare, TheLessIsComparedTheMoreHasToAgree) {
  KeyShare share{.level = KeyLevel::kFrames, .pairs = 3, .smaller = 10};
  EXPECT_TRUE(share.enough());
  share.level = KeyLevel::kInnermost;
  EXPECT_FALSE(share.enough());
  share.pairs = 6;
  EXPECT_TRUE(share.enough());
  share.level = KeyLevel::kOperation;
  EXPECT_FALSE(share.enough());
  EXPECT_FALSE(KeyShare{}.enough());
}

}  // namespace
}  // namespace memtool
