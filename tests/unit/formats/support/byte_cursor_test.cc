#include "support/byte_cursor.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/files.h"
#include "support/read_error.h"

namespace memtool::formats {
namespace {

using test::ToBytes;

// The code that reading throws; fails the test when nothing is thrown.
template <class Read>
ErrorCode Thrown(std::string_view text, const Read& read) {
  const auto bytes = ToBytes(text);
  ByteCursor cursor(bytes, 100);
  try {
    read(cursor);
  } catch (const ReadError& error) {
    EXPECT_GE(*error.error().offset, 100U);
    EXPECT_LE(*error.error().offset, 100 + text.size());
    return error.error().code;
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kUsage;
}

std::string Encode(std::uint64_t value) {
  std::string text;
  while (value >= 0x80) {
    text += static_cast<char>((value & 0x7fU) | 0x80U);
    value >>= 7U;
  }
  return text + static_cast<char>(value);
}

TEST(ByteCursor, ReadsEveryVarintLength) {
  std::vector<std::uint64_t> values{0, 1, std::numeric_limits<std::uint64_t>::max(),
                                    std::uint64_t{1} << 63U};
  for (unsigned bit = 1; bit < 64; ++bit) {
    values.insert(values.end(), {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit,
                                 (std::uint64_t{1} << bit) + 1});
  }
  for (const std::uint64_t value : values) {
    for (const std::string tail : {"", "\x7f", "\xff\xff"}) {
      const auto bytes = ToBytes(Encode(value) + tail);
      ByteCursor cursor(bytes, 0);
      EXPECT_EQ(cursor.Varint(), value);
      EXPECT_EQ(cursor.left(), tail.size());
      EXPECT_EQ(cursor.offset(), bytes.size() - tail.size());
    }
    // Cut at every byte.
    const std::string whole = Encode(value);
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      EXPECT_EQ(Thrown(whole.substr(0, cut), [](ByteCursor& c) { c.Varint(); }),
                ErrorCode::kTruncated);
    }
  }
}

TEST(ByteCursor, ReadsPaddedVarints) {
  const auto bytes = ToBytes(std::string("\x85\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10));
  ByteCursor cursor(bytes, 0);
  EXPECT_EQ(cursor.Varint(), 5U);
  EXPECT_TRUE(cursor.done());
}

TEST(ByteCursor, RefusesVarintsOver64Bits) {
  const auto read = [](ByteCursor& c) { c.Varint(); };
  EXPECT_EQ(Thrown("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", read), ErrorCode::kMalformed);
  EXPECT_EQ(Thrown("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", read), ErrorCode::kMalformed);
  EXPECT_EQ(Thrown("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", read), ErrorCode::kMalformed);
  EXPECT_EQ(Thrown("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", read),
            ErrorCode::kMalformed);
}

TEST(ByteCursor, ReadsFixedLittleEndian) {
  const auto bytes = ToBytes("\x01\x02\x03\x84\x11\x22\x33\x44\x55\x66\x77\xf8");
  ByteCursor cursor(bytes, 7);
  EXPECT_EQ(cursor.Fixed32(), 0x84030201U);
  EXPECT_EQ(cursor.Fixed64(), 0xf877665544332211U);
  EXPECT_TRUE(cursor.done());
  EXPECT_EQ(cursor.offset(), 19U);
  EXPECT_EQ(Thrown("abc", [](ByteCursor& c) { c.Fixed32(); }), ErrorCode::kTruncated);
  EXPECT_EQ(Thrown("abcdefg", [](ByteCursor& c) { c.Fixed64(); }), ErrorCode::kTruncated);
}

TEST(ByteCursor, TakesNoMoreThanThereIs) {
  const auto bytes = ToBytes("abcdef");
  ByteCursor cursor(bytes, 0);
  EXPECT_EQ(AsText(cursor.Take(3)), "abc");
  cursor.Skip(1);
  EXPECT_EQ(cursor.Byte(), 'e');
  EXPECT_EQ(cursor.Take(0).size(), 0U);
  EXPECT_EQ(AsText(cursor.Take(1)), "f");
  EXPECT_EQ(cursor.Take(0).size(), 0U);
  for (const std::uint64_t size :
       {std::uint64_t{4}, std::uint64_t{1} << 32U, std::uint64_t{1} << 63U,
        std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_EQ(Thrown("abc", [size](ByteCursor& c) { c.Take(size); }), ErrorCode::kTruncated);
    EXPECT_EQ(Thrown("abc", [size](ByteCursor& c) { c.Skip(size); }), ErrorCode::kTruncated);
  }
  EXPECT_EQ(Thrown("", [](ByteCursor& c) { c.Byte(); }), ErrorCode::kTruncated);
}

}  // namespace
}  // namespace memtool::formats
