#include "memtool/profile/base/result.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace memtool {
namespace {

std::string_view Loud(Subject subject) {
  return subject == Subject::kMoment ? "MOMENT" : "OTHER";
}

Error About(std::string message, std::string hint = {}) {
  return Fail(ErrorCode::kUsage, Subject::kMoment, std::move(message), std::move(hint)).value();
}

TEST(Error, MentionsItsSubjectsInTheWordsOfWhoShowsIt) {
  const Error error = About(Mention(Subject::kMoment) + " peak: not there",
                            "choose one with " + Mention(Subject::kDevice));
  EXPECT_EQ(error.subject, Subject::kMoment);
  EXPECT_EQ(ToString(error), "moment peak: not there (choose one with device)");
  EXPECT_EQ(ToString(error, Loud), "MOMENT peak: not there (choose one with OTHER)");
}

TEST(Error, HasAPlace) {
  EXPECT_EQ(ToString({.code = ErrorCode::kMalformed,
                      .input = "a.pb",
                      .offset = 7,
                      .field = "sample[1]",
                      .message = "ends here"}),
            "a.pb: byte 7: sample[1]: ends here");
}

TEST(Error, EverySubjectHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Subject::kTimeline); ++i) {
    const auto subject = static_cast<Subject>(i);
    names.insert(std::string(SubjectName(subject)));
    EXPECT_EQ(ToString(About(Mention(subject))), SubjectName(subject));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Subject::kTimeline) + 1);
}

// What inputs put into messages is shown as it is.
TEST(Error, OtherTextStays) {
  for (const std::string text : {"\x0e", "a\x0e", "\x0e\xff", "\x0e\x01", "{moment} %s", "\x0e~"}) {
    EXPECT_EQ(ToString(About(text)), text);
  }
}

}  // namespace
}  // namespace memtool
