#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <memory>
#include <new>
#include <utility>

#include "memtool/formats/digest.h"
#include "memtool/formats/source.h"

namespace memtool::formats {

namespace {

class Hasher {
 public:
  Hasher() : state_(XXH3_createState(), XXH3_freeState) {
    if (state_ == nullptr) {
      throw std::bad_alloc();
    }
    XXH3_128bits_reset(state_.get());
  }
  void Add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
    count_ += bytes.size();
  }
  [[nodiscard]] FileHash Finish() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return {fmt::format("{:016x}{:016x}", hash.high64, hash.low64), count_};
  }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
  std::uint64_t count_ = 0;
};

// Hashes the rest of a source. Errors: those of reading; kLimit for more than `most` bytes.
Result<void> AddRest(Source& source, Hasher& hasher, std::uint64_t most) {
  std::array<std::byte, std::size_t{64} << 10U> buffer{};
  while (true) {
    const auto got = source.Read(buffer);
    MEMTOOL_TRY(got);
    if (*got == 0) {
      return {};
    }
    if (*got > most) {
      return Fail(ErrorCode::kLimit, "has too many bytes to hash",
                  "lift it with --max unpacked-bytes=SIZE");
    }
    most -= *got;
    hasher.Add(std::span(buffer).first(*got));
  }
}

class HashingSource final : public Source {
 public:
  HashingSource(std::unique_ptr<Source> source, std::shared_ptr<FileHash> hash,
                const Limits& limits)
      : source_(std::move(source)), hash_(std::move(hash)), limits_(limits) {}
  ~HashingSource() override {
    // A stream that nobody reads may have no end; little is left of one that was.
    const std::uint64_t most = source_->MayWait() ? limits_.record_bytes : limits_.unpacked_bytes;
    if (!moved_ && AddRest(*source_, hasher_, most)) {
      *hash_ = hasher_.Finish();
    }
  }

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    auto got = source_->Read(buffer);
    if (got) {
      hasher_.Add(buffer.first(*got));
    }
    return got;
  }

  bool SeekTo(std::uint64_t offset) override {
    const bool done = source_->SeekTo(offset);
    moved_ = moved_ || done;
    return done;
  }
  [[nodiscard]] bool MayWait() const override { return source_->MayWait(); }
  [[nodiscard]] std::optional<std::uint64_t> EndedAt() const override { return source_->EndedAt(); }

 private:
  std::unique_ptr<Source> source_;
  std::shared_ptr<FileHash> hash_;
  Hasher hasher_;
  Limits limits_;
  bool moved_ = false;  // bytes were left out, or read twice
};

}  // namespace

Result<FileHash> HashFile(const std::string& path, const Limits& limits) {
  auto source = OpenFile(path);
  MEMTOOL_TRY(source);
  Hasher hasher;
  MEMTOOL_TRY(AddRest(**source, hasher, limits.unpacked_bytes));
  return hasher.Finish();
}

std::unique_ptr<Source> MakeHashingSource(std::unique_ptr<Source> source,
                                          std::shared_ptr<FileHash> hash, const Limits& limits) {
  return std::make_unique<HashingSource>(std::move(source), std::move(hash), limits);
}

}  // namespace memtool::formats
