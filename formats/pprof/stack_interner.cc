#include "pprof/stack_interner.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL  // keys are short: the call would be a good part of the work
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/on_threads.h"
#include "support/byte_cursor.h"
#include "support/read_error.h"

namespace memtool::formats::pprof {

namespace {

constexpr std::size_t kFirstSlots = 256;

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

// Ids of locations are few and small; one of the others is a row of long_ids_, counted from here.
constexpr std::uint32_t kFirstLong = 0xc0000000;

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

[[noreturn]] void ThrowTooMany(const char* what) {
  ThrowRead(ErrorCode::kLimit, 0, "location_id", what);
}

}  // namespace

StackInterner::StackInterner() {
  slots_.resize(kFirstSlots);
}

StackInterner::Hash StackInterner::HashOf(std::span<const std::byte> stack) {
  const auto& secret = Secret();
  const XXH128_hash_t hash =
      ::XXH3_128bits_withSecret(stack.data(), stack.size(), secret.data(), sizeof(secret));
  return {hash.low64, static_cast<std::uint32_t>(hash.high64)};
}

void StackInterner::InternBatch(std::span<const std::span<const std::byte>> stacks, StackId* ids) {
  std::array<Hash, kBatch> hashes{};
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    hashes[i] = HashOf(stacks[i]);
    __builtin_prefetch(&slots_[hashes[i].low & mask]);
  }
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    ids[i] = Lookup(stacks[i], hashes[i]);
  }
}

StackId StackInterner::Lookup(std::span<const std::byte> stack, Hash hash) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash.low & mask;
  for (; slots_[at].entry != 0; at = (at + 1) & mask) {
    if (slots_[at].low == hash.low && slots_[at].high == hash.high) {
      return StackId(slots_[at].entry - 1);
    }
  }
  Add(stack);
  slots_[at] = {hash.low, hash.high, static_cast<std::uint32_t>(size())};
  if (size() * 2 > slots_.size()) {
    Grow();
  }
  return StackId(size() - 1);
}

void StackInterner::Grow() {
  RowVector<Slot> old;
  old.resize(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.entry == 0) {
      continue;
    }
    std::size_t at = slot.low & mask;
    while (slots_[at].entry != 0) {
      at = (at + 1) & mask;
    }
    slots_[at] = slot;
  }
}

void StackInterner::Add(std::span<const std::byte> stack) {
  try {
    Decode(stack);
  } catch (const ReadError& error) {
    if (error.error().code == ErrorCode::kLimit) {
      throw;
    }
    if (!malformed_) {
      malformed_ = {StackId(size()), {stack.begin(), stack.end()}};
    }
  }
  stacks_.EndRow();
}

void StackInterner::Decode(std::span<const std::byte> stack) {
  if (stacks_.items().size() + stack.size() >= IdMap::kNone) {
    ThrowTooMany("more frames in distinct stacks than 32-bit rows can hold");
  }
  std::array<LocationId, 64> part;
  std::size_t count = 0;
  ByteCursor cursor(stack, 0);
  while (!cursor.done()) {
    if (count + kIdsOfWord > part.size()) {
      stacks_.Append(std::span(part).first(count));
      count = 0;
    }
    if (cursor.left() >= sizeof(std::uint64_t) && AreOfTwoBytes(cursor.WordAhead(0))) {
      for (const std::uint32_t location : IdsOfTwoBytes(cursor.WordAhead(0))) {
        part[count++] = LocationId(location);
      }
      cursor.Pass(sizeof(std::uint64_t));
      continue;
    }
    const std::uint64_t location = cursor.Varint();
    part[count++] = location < kFirstLong ? LocationId(static_cast<std::uint32_t>(location))
                                          : Shorten(location);
  }
  stacks_.Append(std::span(part).first(count));
}

LocationId StackInterner::Shorten(std::uint64_t location) {
  if (long_ids_.size() == LocationId::kNone - kFirstLong) {
    ThrowTooMany("too many frames whose location ids are large numbers");
  }
  long_ids_.push_back(location);
  return LocationId(kFirstLong + long_ids_.size() - 1);
}

std::uint64_t StackInterner::Lengthen(LocationId location) const {
  return location.value() < kFirstLong ? location.value()
                                       : long_ids_[location.value() - kFirstLong];
}

void StackInterner::Resolve(StackId id, const IdMap& rows) {
  const auto row_of = [&rows](std::uint64_t location) {
    const std::uint32_t row = rows.Row(location);
    if (row == IdMap::kNone) {
      ThrowRead(ErrorCode::kMalformed, 0, {},
                fmt::format("refers to location id {}, which does not exist", location));
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
    location = row_of(Lengthen(location));
  }
}

bool StackInterner::ResolveCounted(std::size_t count) {
  if (malformed_ || !long_ids_.empty()) {
    return false;
  }
  const auto add = [all = stacks_.items()](std::uint32_t difference, RowRange part) {
    std::uint32_t largest = 0;
    for (LocationId& location : all.subspan(part.begin, part.end - part.begin)) {
      location = LocationId(location.value() + difference);
      largest = std::max(largest, location.value());
    }
    return largest;
  };
  constexpr std::size_t kWorthAThread = std::size_t{1} << 20U;
  const auto parts = PartsForThreads(stacks_.items().size(), kWorthAThread);
  std::atomic<bool> beyond = false;
  OnThreads(parts.size(), [&](std::size_t i) {
    constexpr std::uint32_t kMinusOne = 0xffffffff;
    if (add(kMinusOne, parts[i]) >= count) {
      beyond = true;
    }
  });
  if (beyond) {
    add(1, {0, stacks_.items().size()});
  }
  return !beyond;
}

}  // namespace memtool::formats::pprof
