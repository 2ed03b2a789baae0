// Equal stacks of a profile get equal dense ids. A stack's location ids are decoded when it comes
// for the first time, while its bytes are at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "memtool/profile/base/ids.h"
#include "memtool/profile/base/row_vector.h"
#include "memtool/profile/model/recording.h"
#include "pprof/id_map.h"
#include "support/probe_table.h"

namespace memtool::formats::pprof {

// Stacks are told apart by 96 bits of a hash whose key is drawn anew in every process (XXH3 with a
// secret) and never by their bytes: one place in memory is visited for each sample, instead of
// three. Of n distinct stacks, any two are taken for one with a chance of n² / 2⁹⁷, which is 10⁻¹⁷
// for a million. Who writes a file cannot raise it without knowing the key.
class StackInterner {
 public:
  static constexpr std::size_t kBatch = 32;

  // Interns up to kBatch stacks, each as packed varints of location ids; ids[i] is that of
  // stacks[i]. Looked up together, so that cache misses overlap. Throws ReadError (kLimit) for more
  // frames than 32-bit rows can hold.
  void InternBatch(std::span<const std::span<const std::byte>> stacks, StackId* ids);
  [[nodiscard]] std::size_t size() const { return stacks_.size(); }

  // Turns the location ids of a stack into their rows; once for each, in ascending order. Throws
  // ReadError for an id that is not in `rows`, or where InternBatch() met malformed varints.
  void Resolve(StackId id, const IdMap& rows);
  // All stacks, once they are resolved.
  Runs<StackId, LocationId> Take() && { return std::move(stacks_); }

 private:
  struct Hash {
    std::uint64_t low = 0;  // its low bits are the place in slots_
    std::uint32_t high = 0;
  };
  struct Slot {  // of 16 bytes
    std::uint64_t low = 0;
    std::uint32_t high = 0;
    std::uint32_t entry = 0;  // id + 1; 0 = free
  };
  // The first stack with malformed varints; no later one is decoded or resolved.
  struct Malformed {
    StackId id;
    std::vector<std::byte> bytes;
  };

  static Hash HashOf(std::span<const std::byte> stack);
  StackId Lookup(std::span<const std::byte> stack, Hash hash);
  void Add(std::span<const std::byte> stack);
  void Decode(std::span<const std::byte> stack);
  LocationId AddWide(std::uint64_t location);
  [[nodiscard]] std::uint64_t Widen(LocationId location) const;

  ProbeTable<Slot> slots_;
  Runs<StackId, LocationId> stacks_;  // ids as in the file, see AddWide(), until they are resolved
  RowVector<std::uint64_t> wide_ids_;
  std::optional<Malformed> malformed_;
};

}  // namespace memtool::formats::pprof
