#include "output/text/visible_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "memtool/profile/base/escape.h"
#include "output/sink.h"

namespace memtool::commands {
namespace {

constexpr std::string_view kHostile = "\x1b[31mred\r\n\u202edlrow\xff\t\x9b";

// Whichever way text comes in, what EscapeText leaves of it is all there is.
TEST(VisibleText, IsEscapedHoweverItIsMade) {
  const std::string escaped = EscapeText(kHostile);
  EXPECT_EQ(VisibleText(kHostile).str(), escaped);
  EXPECT_EQ(VisibleText("a ").Append(kHostile).str(), "a " + escaped);
  EXPECT_EQ(VisibleText().Append(VisibleText(kHostile)).str(), escaped);
  EXPECT_EQ(VisibleText().Append(kHostile, 166).str(), "\x1b[38;5;166m" + escaped + "\x1b[0m");
  EXPECT_EQ(VisibleText().AppendBold(VisibleText(kHostile)).str(), "\x1b[1m" + escaped + "\x1b[0m");
  EXPECT_EQ(VisibleText(escaped).str(), escaped) << "once is enough";
}

TEST(VisibleText, LinesKeepTheirBreaksAndNothingElse) {
  EXPECT_EQ(VisibleText::Lines("one\n\x1b[2Jtwo\n").str(), "one\n\\x1b[2Jtwo\n");
  EXPECT_EQ(VisibleText().AppendLines("a\nb", 36).str(), "\x1b[38;5;36ma\nb\x1b[0m");
  EXPECT_EQ(VisibleText::Lines("").str(), "");
}

TEST(VisibleText, LinesEndWithoutBlanks) {
  VisibleText text("a");
  text.AppendBlanks(3).TrimEnd().EndLine().AppendBlanks(2).TrimEnd();
  EXPECT_EQ(text.str(), "a\n");
}

template <class Text>
concept TakenBySinks = requires(Sink& sink, const Text& text) {
  sink.Write(text);
};
static_assert(TakenBySinks<VisibleText>);
static_assert(!TakenBySinks<std::string> && !TakenBySinks<std::string_view> &&
              !TakenBySinks<const char*>);

}  // namespace
}  // namespace memtool::commands
