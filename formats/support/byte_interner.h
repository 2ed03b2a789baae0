// Gives equal byte strings equal dense 32-bit ids. Made for the hot loop of readers: many short
// strings, most of them seen before, looked up in batches so that cache misses overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/base/row_vector.h"
#include "support/probe_table.h"

namespace memtool::formats {

class ByteInterner {
 public:
  static constexpr std::size_t kBatch = 32;

  std::uint32_t Intern(std::span<const std::byte> bytes);
  // Interns up to kBatch strings; out[i] is the id of keys[i].
  void InternBatch(std::span<const std::span<const std::byte>> keys, std::uint32_t* out);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::span<const std::byte> operator[](std::uint32_t id) const {
    return {entries_[id].data, entries_[id].size};
  }

 private:
  // Leads to the bytes at once: each place in memory that a lookup visits costs more than the rest
  // of it.
  struct Slot {
    const std::byte* data = nullptr;
    std::uint32_t tag = 0;    // of size and hash: saves most comparisons
    std::uint32_t entry = 0;  // id + 1; 0 = free
  };
  struct Entry {
    const std::byte* data;
    std::uint32_t size;
    std::uint32_t hash;  // low half of the hash, for growing
  };

  std::uint32_t Lookup(std::span<const std::byte> bytes, std::uint64_t hash);
  std::uint32_t Add(std::span<const std::byte> bytes, std::uint64_t hash, Slot& slot);

  ProbeTable<Slot> slots_;
  RowVector<Entry> entries_;
  std::vector<RowVector<std::byte>> blocks_;
  std::size_t block_left_ = 0;
  std::byte* block_at_ = nullptr;
};

}  // namespace memtool::formats
