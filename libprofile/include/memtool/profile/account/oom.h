// Why an allocation failed: the figures of an out-of-memory event or message, how they make up the
// device, and what follows from them. Everything here is arithmetic on figures that an input gave;
// what none gave stays unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/account/account.h"
#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/allocator/free_memory.h"
#include "memtool/profile/allocator/request_sizes.h"
#include "memtool/profile/base/arithmetic.h"

namespace memtool {

struct OomFacts {
  std::optional<Quantity> requested_bytes;  // requested from the allocator
  std::optional<Quantity> segment_size;     // requested from the driver: a whole segment
  std::optional<Quantity> free;             // reported by the driver
  std::optional<Quantity> capacity;         // of the device
  std::optional<Quantity> limit;            // the allocator's own limit
  std::optional<Quantity> process;          // this process on the device, as the driver sees it
  // in blocks handed out; includes private pools where they are not distinguished
  std::optional<Quantity> live;
  std::optional<Quantity> pending;  // freed by the program, but a stream may still use it
  std::optional<Quantity> cached;   // free inside the allocator
  // Of `live`: what is free in pools of CUDA graphs and MemPools, where a message counts it as
  // live.
  std::optional<Quantity> private_pools;
};

// One part of the breakdown. The parts sum exactly to the whole.
struct OomPart {
  // "free", "live", "private_pools", "pending", "cached", "non_framework", "other", "outside"
  std::string key;
  std::int64_t bytes = 0;
  std::int64_t precision = 0;
  // Less than nothing, by more than rounding explains: the figures contradict each other.
  [[nodiscard]] bool contradicts() const { return SaturatingAdd(bytes, precision) < 0; }
};
// What the parts sum to: the widest total for which all figures are known.
enum class BreakdownTotal : std::uint8_t {
  kCapacity,  // of the device
  kKnown,     // what the driver has free and what the allocator holds
  kReserved,  // what the allocator holds
  kProgram,   // what the compiler planned for one program
};
struct MemoryBreakdown {
  BreakdownTotal kind = BreakdownTotal::kReserved;
  Quantity whole;
  std::vector<OomPart> parts;
  // False: a part is negative by more than rounding explains. The figures contradict each other,
  // for instance where a driver moves device memory to the host.
  bool adds_up = true;
  // The driver's figure for this process is smaller than what the allocator holds: not used.
  bool process_unusable = false;
  bool saturated = false;  // a sum left the 64-bit range, and is clamped to its end
};
// None if the live bytes are unknown.
std::optional<MemoryBreakdown> MakeBreakdown(const OomFacts& facts);

enum class OomCause : std::uint8_t {
  kUnknown,        // too few figures
  kLimit,          // the allocator's own limit, not the device
  kFragmentation,  // enough is cached, but not in one piece
  kFull,           // not enough, even if all that is cached were one piece
  kTooLarge,       // more than the device has in all
  kUnexplained,    // the driver had more free than was wanted
};
// "too-large"
std::string_view ToName(OomCause cause);
// The one of that name; none where none has it.
std::optional<OomCause> FindCause(std::string_view name);

struct OomVerdict {
  OomCause why = OomCause::kUnknown;
  std::int64_t short_of_driver = 0;  // wanted − free; 0 when the driver had enough
  std::int64_t in_all = 0;  // free + what is cached and can be used; what the limit or the device
                            // leaves if that decided
  std::int64_t short_in_all = 0;  // asked − in_all; 0 when it would fit in one piece
  bool close = false;             // rounding of the figures could change the verdict
  // What is free or cached is not known: `in_all` is what the device has besides what is live, and
  // what is lacking is at least `short_in_all`.
  bool at_most = false;
  bool by_wording = false;  // a message without figures says so; all figures here are 0
  // The driver had as much free, but not in whole pages besides the last one, which it keeps;
  // `short_in_all` is what that takes.
  bool last_page = false;
};

// The allocator's state when the allocation failed, as far as it matters to the request. A request
// is served from segments of its size class, stream and pool only.
struct OomState {
  std::int64_t reserved = 0, live = 0, pending = 0, free = 0;
  std::int64_t requested = 0;     // of what is live and pending, before rounding
  std::int64_t pieces = 0;        // free blocks
  std::int64_t largest_free = 0;  // of all
  std::int64_t usable_free = 0, usable_pieces = 0, usable_largest = 0;  // for this request
  std::int64_t other_stream_free = 0;
  // Free in segments for small blocks when the request is large, or the other way round.
  std::int64_t other_class_free = 0;
  std::int64_t private_free = 0;             // in other pools
  FreeMemory gives;                          // what `free` is good for
  std::int64_t segments = 0, estimated = 0;  // segments, and those that are estimated
  std::int64_t expandable = 0;               // segments that can grow
  std::int64_t unplaced = 0;                 // live bytes in no known segment
  // For files whose segments claim more live bytes than their blocks have: the difference.
  std::int64_t unlisted = 0;

  // More is live than is reserved: segments are missing, or not what was recorded.
  [[nodiscard]] bool exceeds() const { return SaturatingAdd(live, unplaced) > reserved; }
};
// `asked`, `stream`: of the request; without `asked` all free memory of the pool counts as usable.
struct OomRequest {
  std::optional<std::int64_t> requested_bytes;
  std::uint16_t stream = 0;
  std::uint64_t pool_owner = 0, pool_id = 0;
};
// Adds the state of a device to `state`. `uses`: UseOfEach of it.
void AddState(const StateAtMoment& at, const std::vector<SegmentUse>& uses,
              const OomRequest& request, OomState& state);

// What PyTorch's allocator requests from the driver for a block of `asked` bytes: 2 MiB for small
// ones, 20 MiB below 10 MiB, else rounded up to 2 MiB (kMinBlockSize, kSmallBuffer, kLargeBuffer,
// kMinLargeAlloc, kRoundLarge of c10/cuda/CUDACachingAllocator.cpp).
std::int64_t SegmentFor(std::int64_t requested_bytes);

// Whether the driver had much more than enough for a segment, more than a neighbour gives back in
// the moment between its refusal and its count: then PyTorch refused by itself, as
// set_per_process_memory_fraction makes it do.
bool DriverHadRoom(std::int64_t free, std::int64_t segment);

// `state` where the input has one: then only what the request can use counts as cached.
OomVerdict Judge(const OomFacts& facts, const OomState* state);

}  // namespace memtool
