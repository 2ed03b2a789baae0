// What is made for a terminal, or for one that can do less.
#include <gtest/gtest.h>

#include "output/sink.h"
#include "output/terminal/background.h"
#include "output/text/ascii.h"
#include "output/text/links.h"
#include "output/text/visible_text.h"

namespace memtool::commands {
namespace {

TEST(Background, IsTheLastColorOfColorFgBg) {
  EXPECT_EQ(ThemeOfColorFgBg("15;0"), Theme::kDark);
  EXPECT_EQ(ThemeOfColorFgBg("0;default;15"), Theme::kLight);
  EXPECT_EQ(ThemeOfColorFgBg("12;8"), Theme::kDark);
  EXPECT_EQ(ThemeOfColorFgBg("0;7"), Theme::kLight);
  for (const char* none : {"", "15;default", ";", "0;1x"}) {
    EXPECT_EQ(ThemeOfColorFgBg(none), std::nullopt) << none;
  }
}

TEST(Background, IsReadFromTheTerminalsAnswer) {
  EXPECT_EQ(ThemeOfAnswer("\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\\x1b[?62;c"), Theme::kDark);
  EXPECT_EQ(ThemeOfAnswer("\x1b]11;rgb:ffff/ffff/dddd\a\x1b[?1;2c"), Theme::kLight);
  EXPECT_EQ(ThemeOfAnswer("\x1b]11;rgb:f/f/f\x1b\\"), Theme::kLight);
  EXPECT_EQ(ThemeOfAnswer("\x1b]11;rgba:0000/0000/0000/ffff\x1b\\"), Theme::kDark);
  for (const char* none : {"", "\x1b[?62;c", "\x1b]11;rgb:1e1e/1e1e", "\x1b]11;rgb:zz/00/00\x1b\\",
                           "\x1b]11;rgb", "\x1b]11;rgb:00000/0/0\x1b\\", "\x1b]11;rgb:/0/0\a"}) {
    EXPECT_EQ(ThemeOfAnswer(none), std::nullopt) << none;
  }
}

TEST(Links, LeadToTheFileAndTheLine) {
  const Links editor = *Links::Make("vscode");
  EXPECT_EQ(editor.UrlOf("/home/a/train.py:20"), "vscode://file/home/a/train.py:20");
  EXPECT_EQ(editor.UrlOf("/home/a/train.py:11 and 2 more"), "vscode://file/home/a/train.py:11");
  EXPECT_EQ(editor.UrlOf("/home/a b/100%é.py:3"), "vscode://file/home/a%20b/100%25%C3%A9.py:3");
  EXPECT_EQ(editor.UrlOf("/home/a/12:30/x.py:7"), "vscode://file/home/a/12%3A30/x.py:7");
  EXPECT_EQ(editor.UrlOf("/home/a/train.py"), "vscode://file/home/a/train.py:1");
  EXPECT_EQ(editor.UrlOf("train.py:20"), "");
  EXPECT_EQ(editor.UrlOf(""), "");
  EXPECT_EQ(Links::Make("me://{path}?{line}")->UrlOf("/a:2"), "me:///a?2");
  EXPECT_FALSE(*Links::Make("never"));
  EXPECT_FALSE(Links::Make("always"));
  EXPECT_FALSE(Links::Make("x://{path}\x1b[2J"));
}

TEST(Links, CannotEndEarly) {
  const std::string url = Links::Make("file")->UrlOf("/a\x1b\\b\x07:1");
  EXPECT_EQ(url.find_first_of("\x1b\a"), std::string::npos);
  EXPECT_EQ(VisibleText().AppendLink(VisibleText("a.py:1"), "x://a").str(),
            "\x1b]8;;x://a\x1b\\a.py:1\x1b]8;;\x1b\\");
}

TEST(Ascii, KeepsColumnsAndLosesNothing) {
  EXPECT_EQ(ToAscii("5 MiB · a → b … ▁█"), "5 MiB - a > b ~ _#");
  EXPECT_EQ(ToAscii("größe_名"), "gr\\u{f6}\\u{df}e_\\u{540d}");
  EXPECT_EQ(ToAscii("\xf0\x9f\x98\x80"), "\\u{1f600}");
}

// Text for people, not the bytes of a document.
TEST(Ascii, IsWhatASinkWritesWhereItIsAsked) {
  StringSink sink;
  sink.SetAscii(true);
  sink.Write(VisibleText("a · é"));
  sink.WriteBytes("·");
  EXPECT_EQ(sink.text(), "a - \\u{e9}·");
}

}  // namespace
}  // namespace memtool::commands
