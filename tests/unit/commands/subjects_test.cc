#include "words/subjects.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace memtool::commands {
namespace {

TEST(Worded, NamesTheOption) {
  const Error error =
      Fail(ErrorCode::kUsage, Subject::kRangeBegin,
           Mention(Subject::kRangeBegin) + " 5 is after " + Mention(Subject::kRangeEnd) + " 2",
           "see " + Mention(Subject::kOverview))
          .value();
  EXPECT_EQ(Worded(error), "--from 5 is after --to 2 (see memtool info)");
}

TEST(Worded, EverySubjectHasAnOptionOrACommand) {
  std::set<std::string> words;
  for (int i = 1; i <= static_cast<int>(Subject::kTimeline); ++i) {
    const std::string text =
        Worded(Fail(ErrorCode::kUsage, Mention(static_cast<Subject>(i))).value());
    EXPECT_TRUE(text.starts_with("--") || text.starts_with("memtool ")) << text;
    words.insert(text);
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(Subject::kTimeline));
}

}  // namespace
}  // namespace memtool::commands
