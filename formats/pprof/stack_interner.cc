#include "pprof/stack_interner.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>

#include "memtool/profile/base/key_hash.h"
#include "support/byte_cursor.h"
#include "support/read_error.h"

namespace memtool::formats::pprof {

namespace {

// What XXH3 takes for the key: as much as it uses, words that do not tell those they are made of.
const auto& Secret() {
  static const auto secret = [] {
    std::array<std::uint64_t, 24> words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = HashNumber(i);
    }
    return words;
  }();
  return secret;
}

// Ids of locations are mostly small; one that is not is a row of wide_ids_, counted from here.
constexpr std::uint32_t kFirstWide = 0xc0000000;

// Ids from 128 to 16,383, which most are: varints of two bytes, four in a word.
constexpr std::size_t kIdsOfWord = 4;
constexpr bool AreOfTwoBytes(std::uint64_t word) {
  return (word & 0x8080808080808080U) == 0x0080008000800080U;
}
constexpr std::array<std::uint32_t, kIdsOfWord> IdsOfTwoBytes(std::uint64_t word) {
  const std::uint64_t ids = (word & 0x007f007f007f007fU) | (word & 0x7f007f007f007f00U) >> 1U;
  std::array<std::uint32_t, kIdsOfWord> each{};
  for (std::size_t i = 0; i < each.size(); ++i) {
    each[i] = static_cast<std::uint32_t>(ids >> (16U * i)) & 0xffffU;
  }
  return each;
}

[[noreturn]] void ThrowUnknown(std::uint64_t location) {
  ThrowRead(ErrorCode::kMalformed, 0, {},
            fmt::format("refers to location id {}, which does not exist", location));
}

}  // namespace

StackInterner::Hash StackInterner::HashOf(std::span<const std::byte> stack) {
  const auto& secret = Secret();
  const XXH128_hash_t hash =
      ::XXH3_128bits_withSecret(stack.data(), stack.size(), secret.data(), sizeof(secret));
  return {hash.low64, static_cast<std::uint32_t>(hash.high64)};
}

void StackInterner::InternBatch(std::span<const std::span<const std::byte>> stacks, StackId* ids) {
  std::array<Hash, kBatch> hashes{};
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    hashes[i] = HashOf(stacks[i]);
    __builtin_prefetch(&slots_.Home(hashes[i].low));
  }
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    ids[i] = Lookup(stacks[i], hashes[i]);
  }
}

StackId StackInterner::Lookup(std::span<const std::byte> stack, Hash hash) {
  Slot& slot = slots_.Find(
      hash.low, [hash](const Slot& one) { return one.low == hash.low && one.high == hash.high; });
  if (slot.entry == 0) {
    Add(stack);
    slot = {hash.low, hash.high, static_cast<std::uint32_t>(size())};
    slots_.Grow(size(), [](const Slot& one) { return one.low; });
    return StackId(size() - 1);
  }
  return StackId(slot.entry - 1);
}

void StackInterner::Add(std::span<const std::byte> stack) {
  if (!malformed_) {  // else this one is never resolved
    try {
      Decode(stack);
    } catch (const ReadError& error) {
      if (error.error().code == ErrorCode::kLimit) {
        throw;
      }
      malformed_ = {StackId(size()), {stack.begin(), stack.end()}};
    }
  }
  if (stacks_.items().size() >= IdMap::kNone) {
    ThrowRead(ErrorCode::kLimit, 0, "location_id",
              fmt::format("{} frames in distinct stacks, more than 32-bit rows can hold",
                          stacks_.items().size()));
  }
  stacks_.EndRow();
}

void StackInterner::Decode(std::span<const std::byte> stack) {
  std::array<LocationId, 64> part;
  std::size_t count = 0;
  for (ByteCursor cursor(stack, 0); !cursor.done();) {
    if (count + kIdsOfWord > part.size()) {
      stacks_.Append(std::span(part).first(count));
      count = 0;
    }
    if (cursor.left() >= sizeof(std::uint64_t) && AreOfTwoBytes(cursor.WordAhead(0))) {
      for (const std::uint32_t location : IdsOfTwoBytes(cursor.WordAhead(0))) {
        part[count++] = LocationId(location);
      }
      cursor.Pass(sizeof(std::uint64_t));
    } else {
      const std::uint64_t location = cursor.Varint();
      part[count++] = location < kFirstWide ? LocationId(static_cast<std::uint32_t>(location))
                                            : AddWide(location);
    }
  }
  stacks_.Append(std::span(part).first(count));
}

LocationId StackInterner::AddWide(std::uint64_t location) {
  if (wide_ids_.size() == LocationId::kNone - kFirstWide) {
    ThrowRead(
        ErrorCode::kLimit, 0, "location_id",
        fmt::format("more than {} frames with ids of {} and above", wide_ids_.size(), kFirstWide));
  }
  wide_ids_.push_back(location);
  return LocationId(kFirstWide + wide_ids_.size() - 1);
}

std::uint64_t StackInterner::Widen(LocationId location) const {
  return location.value() < kFirstWide ? location.value()
                                       : wide_ids_[location.value() - kFirstWide];
}

void StackInterner::Resolve(StackId id, const IdMap& rows) {
  const auto row_of = [&rows](std::uint64_t location) {
    const std::uint32_t row = rows.Row(location);
    if (row == IdMap::kNone) {
      ThrowUnknown(location);
    }
    return LocationId(row);
  };
  if (malformed_ && malformed_->id == id) {
    // What is wrong first.
    for (ByteCursor cursor(malformed_->bytes, 0); !cursor.done();) {
      row_of(cursor.Varint());
    }
  }
  for (LocationId& location : stacks_[id]) {
    location = row_of(Widen(location));
  }
}

}  // namespace memtool::formats::pprof
