#include "support/byte_interner.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "memtool/profile/base/key_hash.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kMaxPrefetched = 4 * kCacheLine;
// The first holds what a small input has; the others are few, and large enough for large pages.
constexpr std::size_t kFirstBlock = std::size_t{256} << 10U;
constexpr std::size_t kBlockBytes = std::size_t{8} << 20U;

constexpr std::size_t kLargeSize = 0xffff;  // from here on, tags tell no size

std::uint32_t Tag(std::size_t size, std::uint64_t hash) {
  return static_cast<std::uint32_t>(std::min(size, kLargeSize) << 16U | hash >> 48U);
}

}  // namespace

std::uint32_t ByteInterner::Add(std::span<const std::byte> bytes, std::uint64_t hash, Slot& slot) {
  const auto id = static_cast<std::uint32_t>(entries_.size());
  // The first key may be empty; it needs an address too.
  if (blocks_.empty() || bytes.size() > block_left_) {
    const std::size_t size = std::max(blocks_.empty() ? kFirstBlock : kBlockBytes, bytes.size());
    blocks_.emplace_back().reserve(size);
    block_at_ = blocks_.back().data();
    block_left_ = size;
  }
  if (!bytes.empty()) {
    std::memcpy(block_at_, bytes.data(), bytes.size());
  }
  entries_.push_back(
      {block_at_, static_cast<std::uint32_t>(bytes.size()), static_cast<std::uint32_t>(hash)});
  block_at_ += bytes.size();
  block_left_ -= bytes.size();
  slot = {entries_.back().data, Tag(bytes.size(), hash), id + 1};
  slots_.Grow(entries_.size(), [this](const Slot& one) { return entries_[one.entry - 1].hash; });
  return id;
}

std::uint32_t ByteInterner::Lookup(std::span<const std::byte> bytes, std::uint64_t hash) {
  const std::uint32_t tag = Tag(bytes.size(), hash);
  Slot& slot = slots_.Find(hash, [&](const Slot& one) {
    return one.tag == tag &&
           (bytes.size() < kLargeSize || entries_[one.entry - 1].size == bytes.size()) &&
           (bytes.empty() || std::memcmp(one.data, bytes.data(), bytes.size()) == 0);
  });
  return slot.entry != 0 ? slot.entry - 1 : Add(bytes, hash, slot);
}

std::uint32_t ByteInterner::Intern(std::span<const std::byte> bytes) {
  return Lookup(bytes, HashBytes(bytes));
}

void ByteInterner::InternBatch(std::span<const std::span<const std::byte>> keys,
                               std::uint32_t* out) {
  // A lookup misses the cache twice in a row: slot, bytes. Each pass below asks for the next of
  // them for the whole batch before any is needed.
  std::array<std::uint64_t, kBatch> hashes{};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes[i] = HashBytes(keys[i]);
    __builtin_prefetch(&slots_.Home(hashes[i]));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::byte* data = slots_.Home(hashes[i]).data;
    const std::size_t size = data == nullptr ? 0 : std::min(keys[i].size(), kMaxPrefetched);
    for (std::size_t line = 0; line < size; line += kCacheLine) {
      __builtin_prefetch(data + line);
    }
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    out[i] = Lookup(keys[i], hashes[i]);
  }
}

}  // namespace memtool::formats
