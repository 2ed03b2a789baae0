#include "words/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "session/progress.h"
#include "words/nearest.h"

namespace memtool::commands {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Words, CountsAndChoices) {
  EXPECT_EQ(Counted(1, "row"), "1 row");
  EXPECT_EQ(Counted(0, "row"), "0 rows");
  EXPECT_EQ(Counted(2048U, "row"), "2,048 rows");
  EXPECT_EQ(OneOf({}), "");
  const std::vector<std::string_view> words{"name", "time", "given"};
  EXPECT_EQ(OneOf(std::span(words).first(1)), "name");
  EXPECT_EQ(OneOf(std::span(words).first(2)), "name or time");
  EXPECT_EQ(OneOf(words), "name, time or given");
}

TEST(Words, SpansOfTime) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(TimeSpanText(kSecond / 4), "250 ms");
  EXPECT_EQ(TimeSpanText(42 * kSecond / 10), "4.2 s");
  EXPECT_EQ(TimeSpanText(90 * kSecond), "90 s");
  EXPECT_EQ(TimeSpanText(750 * kSecond), "12.5 min");
  EXPECT_EQ(TimeSpanText(3 * 3600 * kSecond), "3.0 h");
  EXPECT_EQ(TimeSpanText(60 * 3600 * kSecond), "2.5 days");
}

TEST(Nearest, FewSlipsOrTheBeginning) {
  const std::vector<std::string> names{"at", "diff", "focus", "sample-index", "show", "top"};
  EXPECT_THAT(Nearest("tpo", names), ElementsAre("top"));      // swapped
  EXPECT_THAT(Nearest("dif", names), ElementsAre("diff"));     // begun
  EXPECT_THAT(Nearest("focsu", names), ElementsAre("focus"));  // swapped
  EXPECT_THAT(Nearest("sample", names), ElementsAre("sample-index"));
  EXPECT_THAT(Nearest("s", names), IsEmpty());
  EXPECT_THAT(Nearest("flat", names), IsEmpty());  // 'at' is as far as it is long
  EXPECT_THAT(Nearest(std::string(100'000, 'x'), names), IsEmpty());
  EXPECT_EQ(DidYouMean("focsu", names, "--"), "; did you mean --focus?");
  const std::vector<std::string> close{"hide", "side"};
  EXPECT_EQ(DidYouMean("tide", close, "--"), "; did you mean --hide or --side?");
}

TEST(Progress, SaysHowFarReadingIs) {
  using std::chrono::seconds;
  EXPECT_EQ(Progress::Text(1U << 30U, 4ULL << 30U, seconds(12)),
            "reading 1.00 GiB of 4.00 GiB (25%), 12 s");
  EXPECT_EQ(Progress::Text(1U << 20U, 0, seconds(2)), "reading: 1.00 MiB so far, 2 s");
  EXPECT_EQ(Progress::Text(5, 5, seconds(3)), "working out the answer, 3 s");
}

TEST(Progress, IsSilentOffATerminal) {
  StringSink sink;
  Progress progress(sink);
  progress.Expect(1);
  progress.Stop();
  EXPECT_EQ(sink.text(), "");
}

}  // namespace
}  // namespace memtool::commands
