#include "words/subjects.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "command.h"
#include "memtool/profile/base/utf8.h"

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

// What a message quotes may be as long as its input.
TEST(Warn, KeepsLongMessagesShort) {
  StringSink out;
  StringSink err;
  Streams streams{.out = out, .err = err};
  std::string quoted;
  for (int i = 0; i < 100000; ++i) {
    quoted += "\x1b\u6f22";  // an escape of four bytes and a character of three
  }
  Warn(streams, "begin '" + quoted + "' (end)");
  const std::string& text = err.text();
  EXPECT_LT(text.size(), 2100U);
  EXPECT_TRUE(text.starts_with("memtool: begin '\\x1b\u6f22")) << text.substr(0, 40);
  EXPECT_TRUE(text.ends_with("\\x1b\u6f22' (end)\n")) << text;
  // 700,014 bytes when shown, of which about 1,400 and 600 stay.
  EXPECT_NE(text.find(" … 69801"), std::string::npos) << text;
  EXPECT_EQ(FirstInvalidUtf8(text), std::string::npos);
  Warn(streams, "short");
  EXPECT_TRUE(text.ends_with("(end)\nmemtool: short\n"));
}

}  // namespace
}  // namespace memtool::commands
