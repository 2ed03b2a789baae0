// The layer before sniffing: removes gzip, zlib and zstd, recognised by content, within limits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "memtool/formats/source.h"
#include "support/packing/inflaters.h"
#include "support/packing/read_ahead.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kPackedWindow = std::size_t{64} << 10U;
constexpr std::size_t kMaxLayers = 3;
constexpr std::size_t kMagicBytes = 4;

enum class Packing { kNone, kGzip, kZlib, kZstd };

Packing DetectPacking(std::span<const std::byte> head) {
  const auto at = [head](std::size_t i) { return static_cast<unsigned>(head[i]); };
  if (head.size() >= 2 && at(0) == 0x1f && at(1) == 0x8b) {
    return Packing::kGzip;
  }
  if (head.size() >= 4 && at(0) == 0x28 && at(1) == 0xb5 && at(2) == 0x2f && at(3) == 0xfd) {
    return Packing::kZstd;
  }
  // zlib: deflate with a window of at most 32 KiB, a header divisible by 31, no preset dictionary.
  const bool zlib = head.size() >= 2 && (at(0) & 0x0fU) == 8 && (at(0) >> 4U) == 7 &&
                    (at(0) * 256 + at(1)) % 31 == 0 && (at(1) & 0x20U) == 0;
  return zlib ? Packing::kZlib : Packing::kNone;
}

// Puts back bytes that were read ahead.
class PrefixedSource final : public Source {
 public:
  PrefixedSource(std::vector<std::byte> prefix, std::unique_ptr<Source> rest)
      : prefix_(std::move(prefix)), rest_(std::move(rest)) {}

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    if (at_ == prefix_.size()) {
      return rest_->Read(buffer);
    }
    const std::size_t size = std::min(buffer.size(), prefix_.size() - at_);
    std::memcpy(buffer.data(), prefix_.data() + at_, size);
    at_ += size;
    return size;
  }

  // The prefix was read from the source itself.
  bool SeekTo(std::uint64_t offset) override {
    if (!rest_->SeekTo(offset)) {
      return false;
    }
    at_ = prefix_.size();
    return true;
  }
  [[nodiscard]] std::optional<PlainFile> AsPlainFile() const override {
    return rest_->AsPlainFile();
  }

 private:
  std::vector<std::byte> prefix_;
  std::size_t at_ = 0;
  std::unique_ptr<Source> rest_;
};

// Runs an Inflater over a packed source and watches the limits.
class UnpackingSource final : public Source {
 public:
  UnpackingSource(std::unique_ptr<Source> packed, std::unique_ptr<Inflater> inflater,
                  const Limits& limits)
      : packed_(std::move(packed)),
        inflater_(std::move(inflater)),
        limits_(limits),
        window_(std::make_unique_for_overwrite<std::byte[]>(kPackedWindow)) {}

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    while (true) {
      if (input_.empty() && !packed_ended_) {
        auto got = packed_->Read({window_.get(), kPackedWindow});
        MEMTOOL_TRY(got);
        packed_ended_ = *got == 0;
        packed_bytes_ += *got;
        input_ = {window_.get(), *got};
      }
      auto made = inflater_->Inflate(&input_, buffer, packed_ended_);
      if (!made) {
        Error error = std::move(made.error());
        error.message = fmt::format("{} (at byte {} of the packed input)", error.message,
                                    packed_bytes_ - input_.size());
        return Fail(std::move(error));
      }
      unpacked_bytes_ += *made;
      if (*made > 0) {
        return Checked(*made);
      }
      if (packed_ended_ && input_.empty()) {
        return std::size_t{0};
      }
    }
  }

 private:
  Result<std::size_t> Checked(std::size_t made) {
    if (unpacked_bytes_ > limits_.unpacked_bytes) {
      return Fail(ErrorCode::kLimit,
                  fmt::format("unpacks to more than {} bytes", limits_.unpacked_bytes),
                  "lift it with --max unpacked-bytes=SIZE");
    }
    if (unpacked_bytes_ > limits_.ratio_free_bytes &&
        unpacked_bytes_ / std::max<std::uint64_t>(limits_.ratio, 1) > packed_bytes_) {
      return Fail(ErrorCode::kLimit,
                  fmt::format("unpacks to {} bytes from {}, more than {} times its size",
                              unpacked_bytes_, packed_bytes_, limits_.ratio),
                  "probably a decompression bomb; lift it with --max ratio=N");
    }
    return made;
  }

  std::unique_ptr<Source> packed_;
  std::unique_ptr<Inflater> inflater_;
  Limits limits_;
  std::unique_ptr<std::byte[]> window_;  // NOLINT(*-avoid-c-arrays): bytes that are not zeroed
  std::span<const std::byte> input_;
  bool packed_ended_ = false;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t unpacked_bytes_ = 0;
};

Result<std::vector<std::byte>> ReadMagic(Source& source) {
  std::vector<std::byte> head(kMagicBytes);
  std::size_t have = 0;
  while (have < head.size()) {
    auto got = source.Read(std::span(head).subspan(have));
    MEMTOOL_TRY(got);
    if (*got == 0) {
      break;
    }
    have += *got;
  }
  head.resize(have);
  return head;
}

struct Unpacker {
  std::string_view name;
  std::unique_ptr<Inflater> inflater;
};

// For one of the three kinds that are packed.
Unpacker GetUnpacker(Packing kind) {
  switch (kind) {
    case Packing::kGzip:
      return {"gzip", MakeGzipInflater()};
    case Packing::kZlib:
      return {"zlib", MakeZlibInflater()};
    default:
      return {"zstd", MakeZstdInflater()};
  }
}

}  // namespace

Result<std::unique_ptr<Source>> Unpack(std::unique_ptr<Source> source, const Limits& limits,
                                       std::string* packing) {
  packing->clear();
  const bool may_wait = source->MayWait();
  for (std::size_t layer = 0; layer <= kMaxLayers; ++layer) {
    auto head = ReadMagic(*source);
    MEMTOOL_TRY(head);
    const Packing kind = DetectPacking(*head);
    source = std::make_unique<PrefixedSource>(*std::move(head), std::move(source));
    if (kind == Packing::kNone) {
      return may_wait ? std::move(source) : MakeReadAhead(std::move(source), layer > 0);
    }
    if (layer == kMaxLayers) {
      break;
    }
    auto [name, inflater] = GetUnpacker(kind);
    packing->append(packing->empty() ? "" : "+").append(name);
    source = std::make_unique<UnpackingSource>(std::move(source), std::move(inflater), limits);
  }
  return Fail(ErrorCode::kLimit, fmt::format("packed more than {} times over", kMaxLayers));
}

}  // namespace memtool::formats
