// Working ahead on a thread changes neither the bytes nor what is said of them.
#include "support/packing/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

namespace memtool::formats {
namespace {

constexpr std::size_t kLarge = std::size_t{9} << 20U;  // several times what a thread is worth

std::byte ByteAt(std::size_t at) {
  return static_cast<std::byte>((at * 2654435761U) >> 13U);
}

// Yields bytes in uneven portions, then ends as it is told.
class Counting final : public Source {
 public:
  enum class End { kPlain, kError, kThrow };
  Counting(std::size_t size, End end) : size_(size), end_(end) {}

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    if (at_ == size_ && end_ == End::kError) {
      return Fail(ErrorCode::kMalformed, "the end is wrong");
    }
    if (at_ == size_ && end_ == End::kThrow) {
      throw std::runtime_error("no end");
    }
    const std::size_t portion = 1 + at_ * 7 % 300'000;
    const std::size_t count = std::min({buffer.size(), size_ - at_, portion});
    for (std::size_t i = 0; i < count; ++i) {
      buffer[i] = ByteAt(at_ + i);
    }
    at_ += count;
    return count;
  }

 private:
  std::size_t size_;
  End end_;
  std::size_t at_ = 0;
};

// Reads to the end, in portions of another size; how the end was comes back.
Result<std::size_t> ReadAll(Source& source, std::vector<std::byte>& bytes) {
  std::vector<std::byte> buffer(100'003);
  while (true) {
    auto got = source.Read(buffer);
    if (!got || *got == 0) {
      return got;
    }
    bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got));
  }
}

bool AreCounted(const std::vector<std::byte>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != ByteAt(i)) {
      return false;
    }
  }
  return true;
}

TEST(ReadAhead, YieldsTheSameBytes) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, kLarge}) {
    const auto source = MakeReadAhead(std::make_unique<Counting>(size, Counting::End::kPlain));
    std::vector<std::byte> bytes;
    ASSERT_TRUE(ReadAll(*source, bytes));
    EXPECT_EQ(bytes.size(), size);
    EXPECT_TRUE(AreCounted(bytes));
    EXPECT_EQ(source->Read(bytes).value_or(1), 0U) << "asked again, it is still the end";
  }
}

TEST(ReadAhead, AnErrorComesAfterTheBytesBeforeIt) {
  const auto source = MakeReadAhead(std::make_unique<Counting>(kLarge, Counting::End::kError));
  std::vector<std::byte> bytes;
  const auto end = ReadAll(*source, bytes);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "the end is wrong");
  EXPECT_EQ(bytes.size(), kLarge);
  EXPECT_TRUE(AreCounted(bytes));
}

TEST(ReadAhead, WhatIsThrownArrivesWhereItIsRead) {
  const auto source = MakeReadAhead(std::make_unique<Counting>(kLarge, Counting::End::kThrow));
  std::vector<std::byte> bytes;
  EXPECT_THROW(static_cast<void>(ReadAll(*source, bytes)), std::runtime_error);
  EXPECT_EQ(bytes.size(), kLarge);
}

TEST(ReadAhead, EndsInTheMiddleOfTheInput) {
  for (const std::size_t read : {std::size_t{1}, std::size_t{40}, std::size_t{60}}) {
    const auto source = MakeReadAhead(std::make_unique<Counting>(kLarge, Counting::End::kPlain));
    std::vector<std::byte> buffer(100'000);
    for (std::size_t i = 0; i < read; ++i) {
      ASSERT_TRUE(source->Read(buffer));
    }
  }
}

}  // namespace
}  // namespace memtool::formats
