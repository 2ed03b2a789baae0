#include "memtool/formats/byte_window.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "support/files.h"
#include "support/read_error.h"

namespace memtool::formats {
namespace {

using test::AsView;
using test::ToBytes;
using test::Trickle;

std::string Noise(std::size_t size) {
  std::mt19937 random(7);
  std::string text(size, '\0');
  for (char& c : text) {
    c = static_cast<char>(random());
  }
  return text;
}

TEST(ByteWindow, GivesTheBytesInOrderHoweverTheyCome) {
  const std::string text = Noise(700'000);
  const auto bytes = ToBytes(text);
  for (const std::size_t step : {std::size_t{1000}, std::size_t{65536}, std::size_t{1} << 20U}) {
    for (const std::size_t record :
         {std::size_t{777}, std::size_t{262'144}, std::size_t{300'001}}) {
      ByteWindow window(Trickle(bytes, step));
      std::string got;
      while (!window.AtEnd()) {
        EXPECT_EQ(window.offset(), got.size());
        auto at_hand = window.Fill(record);
        at_hand = at_hand.first(std::min(at_hand.size(), record));
        got += AsView(at_hand);
        window.Advance(at_hand.size());
      }
      ASSERT_EQ(got, text) << step << " " << record;
      EXPECT_EQ(window.offset(), text.size());
    }
  }
}

TEST(ByteWindow, GrowsForARecordLargerThanItself) {
  const std::string text = Noise(3 << 20);
  const auto bytes = ToBytes(text);
  ByteWindow window(Trickle(bytes, 10'000));
  EXPECT_EQ(AsView(window.Fill(10)).substr(0, 10), text.substr(0, 10));
  window.Advance(10);
  const auto record = window.Fill(2 << 20);
  ASSERT_GE(record.size(), std::size_t{2} << 20U);
  EXPECT_EQ(AsView(record.first(2 << 20)), text.substr(10, 2 << 20));
}

TEST(ByteWindow, GivesWhatThereIsWhenTheInputEnds) {
  const auto bytes = ToBytes("abc");
  ByteWindow window(Trickle(bytes, 1));
  EXPECT_EQ(AsView(window.Fill(100)), "abc");
  window.Advance(3);
  EXPECT_TRUE(window.AtEnd());
  EXPECT_TRUE(window.Fill(1).empty());
  EXPECT_EQ(window.offset(), 3U);
}

TEST(ByteWindow, OfNothingIsAtItsEnd) {
  ByteWindow window(MakeMemorySource({}));
  EXPECT_TRUE(window.buffered().empty());
  EXPECT_TRUE(window.AtEnd());
  EXPECT_FALSE(window.Skip(1));
  EXPECT_TRUE(window.Skip(0));
}

TEST(ByteWindow, SkipsFurtherThanItsBuffer) {
  const std::string text = Noise(1'000'000);
  const auto bytes = ToBytes(text);
  ByteWindow window(Trickle(bytes, 4096));
  EXPECT_TRUE(window.Skip(999'990));
  EXPECT_EQ(AsView(window.Fill(10)), text.substr(999'990));
  EXPECT_FALSE(window.Skip(11));
  EXPECT_TRUE(window.AtEnd());
}

TEST(ByteWindow, SeeksWhereItsSourceCan) {
  const std::string text = Noise(1'000'000);
  const auto bytes = ToBytes(text);
  ByteWindow window(MakeMemorySource(bytes));
  EXPECT_TRUE(window.CanSeek());
  EXPECT_EQ(AsView(window.Fill(10)).substr(0, 10), text.substr(0, 10));
  EXPECT_TRUE(window.Skip(999'990));
  EXPECT_EQ(AsView(window.Fill(10)), text.substr(999'990));
  EXPECT_FALSE(window.Seek(1'000'001));
  EXPECT_EQ(window.offset(), 999'990U);
  EXPECT_TRUE(window.Seek(5));
  EXPECT_EQ(window.offset(), 5U);
  EXPECT_EQ(AsView(window.Fill(10)).substr(0, 10), text.substr(5, 10));
  EXPECT_FALSE(window.Skip(1'000'000));
  ByteWindow stream(Trickle(bytes, 4096));
  EXPECT_FALSE(stream.CanSeek());
}

TEST(ByteWindow, ThrowsWhatItsSourceReports) {
  class Broken final : public Source {
    Result<std::size_t> Read(std::span<std::byte>) override {
      return Fail(ErrorCode::kIo, "cannot be read: broken");
    }
  };
  ByteWindow window(std::make_unique<Broken>());
  EXPECT_THROW(window.Fill(1), ReadError);
}

}  // namespace
}  // namespace memtool::formats
