#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <numeric>
#include <random>

#include "memtool/formats/open.h"
#include "memtool/formats/source.h"
#include "support/files.h"

namespace memtool::formats {
namespace {

using test::AsView;
using test::Bytes;
using test::Drain;
using test::ToBytes;
using test::Trickle;
using testing::HasSubstr;

enum class Wrap { kGzip = 15 + 16, kZlib = 15 };

Bytes Deflate(std::string_view text, Wrap wrap) {
  z_stream stream{};
  ::deflateInit2(&stream, 9, Z_DEFLATED, static_cast<int>(wrap), 8, Z_DEFAULT_STRATEGY);
  Bytes packed(::deflateBound(&stream, text.size()) + 64);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}
Bytes Gzip(std::string_view text) {
  return Deflate(text, Wrap::kGzip);
}
Bytes Zlib(std::string_view text) {
  return Deflate(text, Wrap::kZlib);
}
Bytes Zstd(std::string_view text, bool checksum = true) {
  ZSTD_CCtx* context = ::ZSTD_createCCtx();
  ::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  Bytes packed(::ZSTD_compressBound(text.size()));
  packed.resize(::ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size()));
  ::ZSTD_freeCCtx(context);
  return packed;
}
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Unpacked {
  std::string text;
  std::string packing;
  std::optional<Error> error;
};

Unpacked Unwrapped(const Bytes& bytes, const Limits& limits = {}, std::size_t step = 1 << 20,
                   std::size_t out_step = 65536) {
  Unpacked result;
  auto source = Unpack(Trickle(bytes, step), limits, &result.packing);
  if (!source) {
    result.error = source.error();
    return result;
  }
  auto all = Drain(**source, out_step);
  if (!all) {
    result.error = all.error();
  } else {
    result.text = AsView(*all);
  }
  return result;
}

std::string Text(std::size_t size) {
  std::mt19937 random(5);
  std::string text;
  while (text.size() < size) {
    text += "word" + std::to_string(random() % 5000) + " ";
  }
  return text;
}

TEST(Unpack, LeavesPlainBytesAlone) {
  for (const std::string text : {"", "a", "ab", "abc", "abcd", "plain text, longer"}) {
    const Unpacked result = Unwrapped(ToBytes(text));
    EXPECT_FALSE(result.error);
    EXPECT_EQ(result.text, text);
    EXPECT_EQ(result.packing, "");
  }
}

TEST(Unpack, TakesOffOneLayer) {
  const std::string text = Text(500'000);
  for (const auto& [bytes, packing] :
       {std::pair{Gzip(text), "gzip"}, {Zlib(text), "zlib"}, {Zstd(text), "zstd"}}) {
    // Any split of packed and unpacked bytes, as pipes and readers make them.
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{65536}}) {
      for (const std::size_t out_step : {std::size_t{1000}, std::size_t{1} << 20U}) {
        const Unpacked result = Unwrapped(bytes, {}, step, out_step);
        ASSERT_FALSE(result.error) << packing << ": " << result.error->message;
        ASSERT_EQ(result.text, text) << packing;
        EXPECT_EQ(result.packing, packing);
      }
    }
  }
}

TEST(Unpack, TakesOffThreeLayersAndNoMore) {
  const std::string text = "what is inside";
  const Bytes two = Zstd(AsView(Gzip(text)));
  EXPECT_EQ(Unwrapped(two).text, text);
  EXPECT_EQ(Unwrapped(two).packing, "zstd+gzip");
  const Bytes three = Zlib(AsView(two));
  EXPECT_EQ(Unwrapped(three).text, text);
  EXPECT_EQ(Unwrapped(three).packing, "zlib+zstd+gzip");
  const Unpacked four = Unwrapped(Gzip(AsView(three)));
  ASSERT_TRUE(four.error);
  EXPECT_EQ(four.error->code, ErrorCode::kLimit);
  EXPECT_THAT(four.error->message, HasSubstr("more than 3 times"));
}

TEST(Unpack, JoinsGzipMembersAndZstdFrames) {
  EXPECT_EQ(Unwrapped(Gzip("one ") + Gzip("") + Gzip("two")).text, "one two");
  EXPECT_EQ(Unwrapped(Gzip("one ") + Gzip("two"), {}, 1).text, "one two");
  EXPECT_EQ(Unwrapped(Zstd("one ") + Zstd("two")).text, "one two");
  EXPECT_EQ(Unwrapped(Zstd("one ") + Zstd("two"), {}, 1).text, "one two");
}

TEST(Unpack, AllowsZerosAfterGzip) {
  EXPECT_EQ(Unwrapped(Gzip("text") + Bytes(512)).text, "text");
  EXPECT_EQ(Unwrapped(Gzip("text") + Bytes(200'000)).text, "text");
  EXPECT_EQ(Unwrapped(Gzip("text") + Bytes(3), {}, 1).text, "text");
}

TEST(Unpack, RefusesGarbageAfterTheEnd) {
  for (const Bytes& bytes :
       {Gzip("text") + ToBytes("garbage"), Gzip("text") + ToBytes("g"),
        Gzip("text") + Bytes(100) + ToBytes("g"), Gzip("text") + ToBytes("\x1f"),
        Gzip("text") + ToBytes("\x1f\x8b"), Zlib("text") + ToBytes("garbage"),
        Zstd("text") + ToBytes("garbage"), Zstd("text") + ToBytes("g")}) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{65536}}) {
      const Unpacked result = Unwrapped(bytes, {}, step);
      ASSERT_TRUE(result.error) << result.text;
      EXPECT_TRUE(result.error->code == ErrorCode::kMalformed ||
                  result.error->code == ErrorCode::kTruncated);
    }
  }
}

TEST(Unpack, NoticesACutAtEveryByte) {
  const std::string text = Text(3000);
  for (const Bytes& whole : {Gzip(text), Zlib(text), Zstd(text), Zstd(text, false)}) {
    // Input too short to be recognised passes as plain bytes; readers refuse it.
    for (std::size_t cut = 4; cut < whole.size(); ++cut) {
      const Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
      const Unpacked result = Unwrapped(bytes);
      ASSERT_TRUE(result.error) << "cut at " << cut << " of " << whole.size();
      EXPECT_EQ(result.error->code, ErrorCode::kTruncated) << result.error->message;
    }
  }
}

TEST(Unpack, NoticesEveryDamagedByteOfTheChecksums) {
  const std::string text = Text(3000);
  struct Case {
    Bytes bytes;
    std::size_t trailer;
  };
  for (const auto& [bytes, trailer] : {Case{Gzip(text), 8}, {Zlib(text), 4}, {Zstd(text), 4}}) {
    for (std::size_t i = 1; i <= trailer; ++i) {
      Bytes damaged = bytes;
      damaged[damaged.size() - i] ^= std::byte{0x10};
      const Unpacked result = Unwrapped(damaged);
      ASSERT_TRUE(result.error) << i;
      EXPECT_EQ(result.error->code, ErrorCode::kMalformed) << result.error->message;
    }
  }
}

TEST(Unpack, NeverLoopsOrCrashesOnDamage) {
  const std::string text = Text(2000);
  std::mt19937 random(11);
  for (const Bytes& whole : {Gzip(text), Zlib(text), Zstd(text)}) {
    for (int round = 0; round < 2000; ++round) {
      Bytes bytes = whole;
      for (int flips = 0; flips < 3; ++flips) {
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << random() % 8);
      }
      const Unpacked result = Unwrapped(bytes, {}, 1 + random() % 500);
      EXPECT_LE(result.text.size(), std::size_t{10} << 20U);
    }
  }
}

TEST(Unpack, SaysWhereThePackedInputIsDamaged) {
  Bytes bytes = Gzip(Text(3000));
  bytes[bytes.size() - 8] ^= std::byte{1};  // of the checksum
  const std::string place = fmt::format("(at byte {} of the packed input)", bytes.size());
  for (const std::size_t portion : {100U, 65'536U, 1'000'000U}) {
    EXPECT_THAT(Unwrapped(bytes, {}, 1 << 20, portion).error->message, HasSubstr(place)) << portion;
  }
}

TEST(Unpack, StopsAtTheLimitOfUnpackedBytes) {
  const std::string text = Text(100'000);
  Limits limits;
  limits.unpacked_bytes = text.size();
  EXPECT_FALSE(Unwrapped(Gzip(text), limits).error);
  limits.unpacked_bytes = text.size() - 1;
  const Unpacked result = Unwrapped(Gzip(text), limits);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->code, ErrorCode::kLimit);
  EXPECT_THAT(result.error->hint, HasSubstr("--max unpacked-bytes"));
}

TEST(Unpack, StopsAtTheRatioPastTheFreeBytes) {
  const std::string zeros(1'000'000, '\0');
  Limits limits;
  limits.ratio = 500;
  limits.ratio_free_bytes = 2'000'000;
  EXPECT_FALSE(Unwrapped(Gzip(zeros), limits).error);
  limits.ratio_free_bytes = 100'000;
  const Unpacked result = Unwrapped(Gzip(zeros), limits);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->code, ErrorCode::kLimit);
  EXPECT_THAT(result.error->hint, HasSubstr("bomb"));
  limits.ratio = 2000;
  EXPECT_FALSE(Unwrapped(Gzip(zeros), limits).error);
  limits.ratio = 0;  // counts as 1
  EXPECT_EQ(Unwrapped(Gzip(zeros), limits).error->code, ErrorCode::kLimit);
}

// A gzip that would inflate to 100 GB, made while it is read: members of a MiB of zeros.
class EndlessGzip final : public Source {
 public:
  EndlessGzip() : member_(Gzip(std::string(1 << 20, '\0'))) {}
  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    if (left_ == 0) {
      return std::size_t{0};
    }
    const std::size_t size = std::min(buffer.size(), member_.size() - at_);
    std::copy_n(member_.begin() + static_cast<std::ptrdiff_t>(at_), size, buffer.begin());
    at_ += size;
    if (at_ == member_.size()) {
      at_ = 0;
      --left_;
    }
    return size;
  }

 private:
  Bytes member_;
  std::size_t at_ = 0;
  std::uint64_t left_ = 100'000;
};

long PeakKilobytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Unpack, StopsAnEndlessGzipInBoundedMemory) {
  Limits limits;
  limits.ratio_free_bytes = 64 << 20;
  std::string packing;
  const long before = PeakKilobytes();
  auto source = Unpack(std::make_unique<EndlessGzip>(), limits, &packing);
  ASSERT_TRUE(source.has_value());
  Bytes buffer(65536);
  std::uint64_t unpacked = 0;
  std::optional<Error> error;
  while (!error) {
    auto got = (*source)->Read(buffer);
    if (!got) {
      error = got.error();
    } else {
      ASSERT_GT(*got, 0U) << "100 GB went through";
      unpacked += *got;
    }
  }
  EXPECT_EQ(error->code, ErrorCode::kLimit);
  EXPECT_LE(unpacked, std::uint64_t{65} << 20U);
  EXPECT_LT(PeakKilobytes() - before, 64 << 10);
}

TEST(Load, StopsAnEndlessGzipBeforeItIsRead) {
  OpenOptions options;
  options.limits.ratio_free_bytes = 16 << 20;
  options.format = "pprof";
  const long before = PeakKilobytes();
  const auto recording = OpenRecording(std::make_unique<EndlessGzip>(), "bomb", options);
  ASSERT_FALSE(recording.has_value());
  EXPECT_EQ(recording.error().input, "bomb");
  EXPECT_LT(PeakKilobytes() - before, 128 << 10);
}

}  // namespace
}  // namespace memtool::formats
