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

// Hashes the rest of a source.
Result<void> AddRest(Source& source, Hasher& hasher) {
  std::array<std::byte, std::size_t{64} << 10U> buffer{};
  while (true) {
    const auto got = source.Read(buffer);
    MEMTOOL_TRY(got);
    if (*got == 0) {
      return {};
    }
    hasher.Add(std::span(buffer).first(*got));
  }
}

class HashingSource final : public Source {
 public:
  HashingSource(std::unique_ptr<Source> source, std::shared_ptr<FileHash> hash)
      : source_(std::move(source)), hash_(std::move(hash)) {}
  ~HashingSource() override {
    if (!moved_ && AddRest(*source_, hasher_)) {
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
  bool moved_ = false;  // bytes were left out, or read twice
};

}  // namespace

Result<FileHash> HashFile(const std::string& path) {
  auto source = OpenFile(path);
  MEMTOOL_TRY(source);
  Hasher hasher;
  MEMTOOL_TRY(AddRest(**source, hasher));
  return hasher.Finish();
}

std::unique_ptr<Source> MakeHashingSource(std::unique_ptr<Source> source,
                                          std::shared_ptr<FileHash> hash) {
  return std::make_unique<HashingSource>(std::move(source), std::move(hash));
}

}  // namespace memtool::formats
