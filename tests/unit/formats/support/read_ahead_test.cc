// Working ahead on a thread changes neither the bytes nor what is said of them.
#include "support/packing/read_ahead.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "memtool/formats/byte_window.h"
#include "support/read_error.h"

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
    const auto source =
        MakeReadAhead(std::make_unique<Counting>(size, Counting::End::kPlain), true);
    std::vector<std::byte> bytes;
    ASSERT_TRUE(ReadAll(*source, bytes));
    EXPECT_EQ(bytes.size(), size);
    EXPECT_TRUE(AreCounted(bytes));
    EXPECT_EQ(source->Read(bytes).value_or(1), 0U) << "asked again, it is still the end";
  }
}

TEST(ReadAhead, AnErrorComesAfterTheBytesBeforeIt) {
  const auto source =
      MakeReadAhead(std::make_unique<Counting>(kLarge, Counting::End::kError), true);
  std::vector<std::byte> bytes;
  const auto end = ReadAll(*source, bytes);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "the end is wrong");
  EXPECT_EQ(bytes.size(), kLarge);
  EXPECT_TRUE(AreCounted(bytes));
}

TEST(ReadAhead, WhatIsThrownArrivesWhereItIsRead) {
  const auto source =
      MakeReadAhead(std::make_unique<Counting>(kLarge, Counting::End::kThrow), true);
  std::vector<std::byte> bytes;
  EXPECT_THROW(static_cast<void>(ReadAll(*source, bytes)), std::runtime_error);
  EXPECT_EQ(bytes.size(), kLarge);
}

TEST(ReadAhead, EndsInTheMiddleOfTheInput) {
  for (const std::size_t read : {std::size_t{1}, std::size_t{40}, std::size_t{60}}) {
    const auto source =
        MakeReadAhead(std::make_unique<Counting>(kLarge, Counting::End::kPlain), true);
    std::vector<std::byte> buffer(100'000);
    for (std::size_t i = 0; i < read; ++i) {
      ASSERT_TRUE(source->Read(buffer));
    }
  }
}

// Records of all sizes: shorter than what is lent at a time, longer than the room before it, longer
// than all pieces together.
TEST(ReadAhead, AWindowSeesTheSameBytesWhereTheyAreLent) {
  ByteWindow window(MakeReadAhead(std::make_unique<Counting>(kLarge, Counting::End::kPlain), true));
  std::size_t at = 0;
  for (std::size_t record = 1; !window.AtEnd(); record = record * 5 % 3'000'017) {
    ASSERT_EQ(window.offset(), at);
    const auto bytes = window.Fill(record);
    ASSERT_EQ(bytes.size() < record, kLarge - at < record);
    const std::size_t size = std::min(bytes.size(), record);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(bytes[i], ByteAt(at + i)) << at + i;
    }
    window.Advance(size);
    at += size;
  }
  EXPECT_EQ(at, kLarge);
}

TEST(ReadAhead, AnErrorComesThroughAWindowAfterTheBytesBeforeIt) {
  ByteWindow window(MakeReadAhead(std::make_unique<Counting>(kLarge, Counting::End::kError), true));
  while (window.offset() + 1000 <= kLarge) {
    ASSERT_GE(window.Fill(1000).size(), 1000U);
    window.Advance(1000);
  }
  EXPECT_THROW(window.Fill(1000), ReadError);
}

// A plain file, of which a thread reads ahead when it goes on from another place.
TEST(ReadAhead, AFileGoesOnFromAnotherPlace) {
  constexpr std::size_t kFileBytes = std::size_t{24} << 20U;
  std::vector<std::byte> bytes(kFileBytes);
  for (std::size_t i = 0; i < kFileBytes; ++i) {
    bytes[i] = ByteAt(i);
  }
  const int fd = ::memfd_create("read_ahead_test", 0);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::write(fd, bytes.data(), kFileBytes), static_cast<ssize_t>(kFileBytes));
  ASSERT_EQ(::lseek(fd, 0, SEEK_SET), 0);
  ByteWindow window(MakeReadAhead(MakeFdSource(fd, true), false));
  const auto expect_from = [&](std::size_t at, std::size_t end) {
    for (; at < end; at += 50'000) {
      ASSERT_EQ(window.offset(), at);
      ASSERT_GE(window.Fill(50'000).size(), std::min<std::size_t>(50'000, kFileBytes - at));
      ASSERT_EQ(window.buffered().front(), ByteAt(at)) << at;
      window.Advance(std::min<std::size_t>(50'000, kFileBytes - at));
    }
  };
  constexpr std::size_t kFar = 400 * std::size_t{50'000};
  expect_from(0, kFar);
  ASSERT_TRUE(window.Seek(1'000'001));
  expect_from(1'000'001, 1'000'001 + kFar);
  const std::size_t ahead = window.Fill(50'000).size();
  EXPECT_FALSE(window.Seek(kFileBytes + 1));
  ASSERT_EQ(window.buffered().size(), ahead) << "nothing changes";
  EXPECT_EQ(window.buffered().back(), ByteAt(window.offset() + ahead - 1));
  expect_from(1'000'001 + kFar, kFileBytes);
  EXPECT_TRUE(window.AtEnd());
}

}  // namespace
}  // namespace memtool::formats
