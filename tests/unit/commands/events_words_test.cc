#include "events/events_words.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "memtool/profile/model/history.h"

namespace memtool::commands {
namespace {

std::string Quotient(std::int64_t nanos) {
  const auto value = static_cast<double>(nanos);
  const double size = nanos >= 1'000'000'000 ? 1e9 : nanos >= 1'000'000 ? 1e6 : 1e3;
  return fmt::format("{:.4g} {}", value / size, size == 1e9 ? "s" : size == 1e6 ? "ms" : "us");
}

// Times are written in whole numbers where those say the same; doubles say what is right.
TEST(EventsWords, TimesAreWhatADoubleWouldBeRoundedTo) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200'000; ++round) {
    auto nanos = static_cast<std::int64_t>(random() >> (2 + random() % 60));
    if (round % 4 == 0) {  // between two that are written, and beside
      nanos = nanos % 10'000'000 * 1'000 + 500 + static_cast<std::int64_t>(random() % 3) - 1;
    }
    EXPECT_EQ(DurationText(nanos), Quotient(nanos)) << nanos;
    EXPECT_EQ(SinceText(nanos, 0), fmt::format("+{:.6f} s", static_cast<double>(nanos) / 1e9))
        << nanos;
  }
  for (const std::int64_t nanos :
       {0L, 1L, 999L, 1000L, 1500L, 999'949L, 999'950L, 999'951L, 999'999L, 1'000'000L, 9'999'500L,
        999'999'999L, 999'950'000'000L}) {
    EXPECT_EQ(DurationText(nanos), Quotient(nanos)) << nanos;
  }
  EXPECT_EQ(SinceText(5, 1'000'000'005), "+-1.000000 s");
  EXPECT_EQ(SinceText(kNoTime, 0), "");
}

// No text is wider than said, and most are as wide: else nothing would be spared.
TEST(EventsWords, WidthsAreWhatTheTextsNeed) {
  std::mt19937_64 random(12);
  const auto number = [&random] {
    return static_cast<std::int64_t>(random() >> (1 + random() % 63));
  };
  int exact = 0;
  constexpr int kRounds = 100'000;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t nanos = round % 8 == 0 ? -number() : number();
    const std::int64_t events = number();
    const BlockId id{.segment = round % 2 == 0,
                     .address = static_cast<std::uint64_t>(number()),
                     .version = static_cast<decltype(BlockId::version)>(number())};
    EXPECT_GE(SinceWidth(nanos, 0), SinceText(nanos, 0).size()) << nanos;
    EXPECT_GE(LivedWidth(events, nanos), LivedText(events, nanos).size()) << events << " " << nanos;
    EXPECT_EQ(LivedWidth(events, {}), LivedText(events, {}).size() + (events == 1 ? 1 : 0));
    EXPECT_EQ(IdWidth(id), ToString(id).size()) << ToString(id);
    exact += SinceWidth(nanos, 0) == SinceText(nanos, 0).size() ? 1 : 0;
  }
  EXPECT_GT(exact, kRounds / 2);
  EXPECT_EQ(SinceWidth(kNoTime, 0), 0U);
  EXPECT_EQ(IdWidth({}), ToString(BlockId{}).size());
}

}  // namespace
}  // namespace memtool::commands
