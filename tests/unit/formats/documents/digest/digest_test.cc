#include "memtool/formats/digest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace memtool::formats {
namespace {

Digest Full() {
  Digest digest;
  digest.path = "a/\"rank3\"\n.pickle";
  digest.hash = "00ff";
  digest.bytes = std::numeric_limits<std::uint64_t>::max();
  digest.format = "torch_snapshot";
  digest.display = "PyTorch …";
  digest.host = "node7";
  digest.process = 4711;
  digest.rank = "3 of 8";
  digest.since_epoch = true;
  digest.devices = {{.name = "0",
                     .device = 0,
                     .capacity = 85899345920,
                     .events = 12,
                     .overflowed = true,
                     .begin = 5,
                     .last = 9,
                     .base = 1,
                     .peak = std::numeric_limits<std::int64_t>::max(),
                     .peak_event = 3,
                     .peak_time = 7,
                     .end = 4,
                     .reserved_peak = 8,
                     .reserved_end = 6},
                    {.name = "1", .device = 1}};
  digest.fullest = 0;
  digest.peak = 10;
  digest.end = 11;
  digest.rows = {{"f", "m.py", 1, 2}, {"\x1b[0m\u202e", "", 5, 0}};
  digest.cut_rows = 3;
  digest.cut_peak = 4;
  digest.cut_end = 5;
  digest.cut_largest = 6;
  digest.ooms = {{.device = 0,
                  .event = 2,
                  .time = 8,
                  .requested_bytes = 100,
                  .free = 7,
                  .live = 5,
                  .reserved = 6},
                 {.device = -1}};
  digest.grid = {.first = -3, .shift = 20, .live = {1, 2}, .reserved = {3, 4}};
  digest.settings = {{"expandable_segments", "True"}};
  digest.diagnostics = {{"skipped_field", 2}};
  return digest;
}

TEST(Digest, WhatIsWrittenIsRead) {
  for (const Digest& digest : {Full(), Digest{}, DigestOfProblem({"p", "h", 3}, "was cut")}) {
    const std::string line = DigestLine(digest);
    ASSERT_EQ(line.back(), '\n');
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
    const auto read = ParseDigest(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(*read, digest);
    EXPECT_EQ(DigestLine(*read), line);
    EXPECT_TRUE(IsDigests(line));
  }
}

TEST(Digest, WhatIsWrongIsNamed) {
  const std::string line = DigestLine(Full());
  const auto with = [&line](std::string_view from, std::string_view to) {
    std::string text = line;
    text.replace(text.find(from), from.size(), to);
    return ParseDigest(text);
  };
  EXPECT_EQ(with("\"peak\":10", "\"peak\":1.5").error().message, "'peak' is not an integer");
  EXPECT_EQ(with("\"fullest\":0", "\"fullest\":2").error().message,
            "'fullest' is no row of 'devices'");
  EXPECT_EQ(with("\"shift\":20", "\"shift\":63").error().message, "'shift' is too large");
  EXPECT_EQ(with("\"first\":-3", "\"first\":9000000000000").error().message,
            "'first' lies beyond all times");
  EXPECT_EQ(with("\"reserved\":[3,4]", "\"reserved\":[3]").error().message,
            "'reserved' has another length than 'live'");
  for (const char* key : {"capacity", "base", "peak", "end", "reserved_peak", "reserved_end",
                          "largest", "asked", "free", "live"}) {
    const std::string from = fmt::format("\"{}\":", key);
    const char digit = line[line.find(from) + from.size()];
    const auto negative = digit == '[' ? with(from + "[1", from + "[-1") : with(from, from + "-");
    ASSERT_FALSE(negative.has_value()) << key;
    EXPECT_THAT(negative.error().message, testing::HasSubstr("below 0")) << key;
  }
  EXPECT_EQ(with("\"peak_event\":3", "\"peak_event\":-2").error().message,
            "'peak_event' is no number of an event");
  EXPECT_EQ(with("digest/1", "digest/2").error().message,
            "its schema is 'memtool.digest/2', and this version reads memtool.digest/1");
  EXPECT_TRUE(with("\"peak\":10", "\"more\":{},\"peak\":10").has_value());
  EXPECT_FALSE(ParseDigest("[]").has_value());
  EXPECT_FALSE(ParseDigest("").has_value());
}

// Of an input without a history, which may be the difference of two profiles.
TEST(Digest, DifferencesMayBeNegative) {
  Digest digest{.path = "p", .peak = -3, .end = -3, .rows = {{"f", "m.py", -3, -3}}};
  digest.cut_peak = digest.cut_end = digest.cut_largest = -1;
  const std::string line = DigestLine(digest);
  const auto read = ParseDigest(line);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, digest);
}

}  // namespace
}  // namespace memtool::formats
