#include "output/escape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

namespace memtool::commands {
namespace {

using namespace std::string_literals;

struct Case {
  std::string bytes;
  std::string shown;
};

void Expect(std::string (*escape)(std::string_view), const std::vector<Case>& cases) {
  for (const auto& [bytes, shown] : cases) {
    EXPECT_EQ(escape(bytes), shown) << testing::PrintToString(bytes);
  }
}

TEST(EscapeText, ShowsWhatATerminalWouldObey) {
  Expect(EscapeText, {{"plain", "plain"},
                      {"Größe 漢字 😀", "Größe 漢字 😀"},
                      {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
                      {"\x1b[31mred"s, "\\x1b[31mred"},
                      {"nul\0x"s, "nul\\x00x"},
                      {"del\x7f"s, "del\\x7f"},
                      {"\u0085\u009b", "\\x85\\x9b"},  // C1, as UTF-8
                      {"\x9b"s, "\\x9b"},              // and as a lone byte
                      {"\u202eabc\u2069", "\\u202eabc\\u2069"},
                      {"\u200b\ufeff\u00ad", "\\u200b\\ufeff\\xad"},
                      {"\u2028\u2029", "\\u2028\\u2029"},
                      {"\u3164\u180e\u115f", "\\u3164\\u180e\\u115f"},  // letters without ink
                      {"a\u00a0b\u3000c\u2800", "a\\xa0b\\u3000c\\u2800"},
                      {"a\ufe0f\U000e0061", "a\\ufe0f\\ue0061"},
                      {"\u2010\u3001\u3163\u3165", "\u2010\u3001\u3163\u3165"},
                      {"\uffff\ufdd0", "\\uffff\\ufdd0"},  // XML forbids the first
                      {"\xff\xfe"s, "\\xff\\xfe"},
                      {"\xc0\xaf"s, "\\xc0\\xaf"},           // overlong
                      {"\xed\xa0\x80"s, "\\xed\\xa0\\x80"},  // a surrogate
                      {"\xf4\x90\x80\x80"s, "\\xf4\\x90\\x80\\x80"},
                      {"\xe2\x82"s, "\\xe2\\x82"},  // cut
                      {"", ""}});
}

TEST(ToUtf8, ReplacesWhatIsNotUtf8) {
  Expect(ToUtf8, {{"Größe", "Größe"},
                  {"a\xff"
                   "b"s,
                   "a\ufffdb"},
                  {"\xc3"s, "\ufffd"},
                  {"\xed\xa0\x80"s, "\ufffd\ufffd\ufffd"},
                  {"a\nb", "a\nb"}});
}

TEST(EscapeJson, KeepsTheValue) {
  Expect(EscapeJson, {{R"({"a":"b\n"})", R"({"a":"b\n"})"},
                      {"\"Größe 漢 \x7f\"", "\"Größe 漢 \\u007f\""},
                      {"\u009b\u202e\ufeff", "\\u009b\\u202e\\ufeff"},
                      {"\U000e0001😀", "\\udb40\\udc01😀"}});
}

TEST(EscapeCsv, QuotesAndDisarmsFormulas) {
  Expect(EscapeCsv, {{"plain", "plain"},
                     {"a,b", "\"a,b\""},
                     {"say \"x\"", "\"say \"\"x\"\"\""},
                     {"a\nb", "a\\nb"},
                     {"=1+1", "'=1+1"},
                     {"+1", "'+1"},
                     {"-1", "'-1"},
                     {"@SUM(A1)", "'@SUM(A1)"},
                     {"=cmd|' /C calc'!A0,x", "\"'=cmd|' /C calc'!A0,x\""},
                     {"\t=1", "\\t=1"},
                     {"\x1b[0m"s, "\\x1b[0m"},
                     {"", ""}});
}

TEST(EscapeMarkdown, KeepsACellACell) {
  Expect(EscapeMarkdown, {{"a|b", "a\\|b"},
                          {"`code`", "\\`code\\`"},
                          {"<b>&", "&lt;b&gt;&amp;"},
                          {"[x](y)", "\\[x\\](y)"},
                          {"**bold** snake_case", "\\*\\*bold\\*\\* snake\\_case"},
                          {"back\\slash", "back\\\\slash"},
                          {"a\nb", "a\\\\nb"}});
}

TEST(EscapeDot, LeavesNoEscStringEscapes) {
  Expect(EscapeDot, {{"\\N \\G \\l", "\\\\N \\\\G \\\\l"},
                     {"a\nb", "a\\\\nb"},
                     {"quote\"", "quote\""},
                     {"trailing\\", "trailing\\\\"}});
}

TEST(DisplayWidth, CountsCells) {
  EXPECT_EQ(DisplayWidth("abc"), 3U);
  EXPECT_EQ(DisplayWidth("Größe"), 5U);
  EXPECT_EQ(DisplayWidth("漢字"), 4U);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1U);
  EXPECT_EQ(DisplayWidth("😀"), 2U);
}

TEST(Shorten, KeepsBothEndsAndTheWidth) {
  EXPECT_EQ(Shorten("short", 10), "short");
  EXPECT_EQ(Shorten("abcdefghij", 5), "ab…ij");
  EXPECT_EQ(Shorten("abcdefghij", 1), "…");
  // A line number is never cut.
  EXPECT_EQ(Shorten("forward linear.py:21600", 10), "for…:21600");
  EXPECT_EQ(Shorten("forward linear.py:21600", 7), "…:21600");
  EXPECT_EQ(ShortenAt("a/long/linear.py:5", 9, 0), "…ear.py:5");
  const std::string wide = "漢字漢字漢字漢字";
  for (std::size_t width = 1; width < 20; ++width) {
    EXPECT_LE(DisplayWidth(Shorten(wide, width)), width);
    EXPECT_LE(DisplayWidth(Shorten("a漢b字c漢d字e", width)), width);
  }
}

// Strict decoding, written independently of the one under test. Returns -1 when not UTF-8.
std::int64_t NextCodePoint(std::string_view& text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = at(0);
  const std::size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || text.size() < size) {
    return -1;
  }
  std::int64_t value = size == 1 ? first : first & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0U) != 0x80) {
      return -1;
    }
    value = value << 6 | (at(i) & 0x3fU);
  }
  constexpr std::array<std::int64_t, 5> kMin{0, 0, 0x80, 0x800, 0x10000};
  if (value < kMin[size] || (value >= 0xd800 && value < 0xe000) || value > 0x10ffff) {
    return -1;
  }
  text.remove_prefix(size);
  return value;
}

bool Harmless(std::string_view text, bool visible) {
  while (!text.empty()) {
    const std::int64_t c = NextCodePoint(text);
    const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    const bool bidi = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                      (c >= 0x2066 && c <= 0x2069);
    if (c < 0 || (visible && (control || bidi))) {
      return false;
    }
  }
  return true;
}

// Random bytes, and pieces that are nearly UTF-8 or harmful.
std::string RandomBytes(std::mt19937& random) {
  static const std::vector<std::string> kPieces{
      "\u202e",       "\u2066",   "\x1b[",  "\xc2",  "\xe2\x80",
      "\xf0\x9f\x98", "漢",       "\u009b", "\r\n",  "a",
      "\\",           "\"",       "|",      "=",     ";",
      "\xed\xa0\x80", "\xc0\x80", "\u0301", "\u061c"};
  std::string bytes;
  for (std::size_t i = 0, n = random() % 12; i < n; ++i) {
    if (random() % 2 == 0) {
      bytes += kPieces[random() % kPieces.size()];
    } else {
      bytes += static_cast<char>(random());
    }
  }
  return bytes;
}

// Only what may be seen is remembered of a name, however long it is.
TEST(Shorten, KeepsBothEndsOfALongName) {
  const std::string name = "head" + std::string(std::size_t{1} << 20U, '-') + "tail";
  EXPECT_EQ(Shorten(name, 9), "head…tail");
}

TEST(Escapers, HoldForAnyBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const std::string bytes = RandomBytes(random);
    const std::string text = EscapeText(bytes);
    ASSERT_TRUE(Harmless(text, true)) << testing::PrintToString(bytes);
    ASSERT_TRUE(Harmless(ToUtf8(bytes), false)) << testing::PrintToString(bytes);
    ASSERT_TRUE(Harmless(EscapeDot(bytes), true));
    ASSERT_TRUE(Harmless(EscapeMarkdown(bytes), true));
    const std::string csv = EscapeCsv(bytes);
    ASSERT_TRUE(Harmless(csv, true)) << testing::PrintToString(bytes);
    const std::size_t start = csv.starts_with('"') ? 1 : 0;
    ASSERT_TRUE(csv.size() == start ||
                std::string_view("=+-@").find(csv[start]) == std::string::npos)
        << csv;
    ASSERT_EQ(EscapeText(text), text) << "escaping twice changes nothing more";
    const std::size_t width = random() % 10;
    ASSERT_LE(DisplayWidth(Shorten(text, width)), std::max<std::size_t>(width, 1));
    ASSERT_TRUE(Harmless(Shorten(text, width), true));
  }
}

}  // namespace
}  // namespace memtool::commands
