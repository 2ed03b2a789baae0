// The account: one ladder from a device's capacity down to what a program's rows hold, where each
// difference is between two figures of different origin. What no input reports stays unknown.
//
//   capacity = free + driver reserved + used      (where one source gives all three)
//   used     = other processes + this process
//   process  = below the framework + reserved     (context, libraries, NCCL, other allocators)
//   below    = recorded + unrecorded              (from a log of the driver's calls)
//   reserved = cached + allocated
//   cached   = releasable + private pools + reusable + fragmented    (FreeMemory has the words)
//   allocated = rounding + unlisted + requested
//   requested = buckets
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/select/at_moment.h"

namespace memtool {

// A figure and its source.
struct Quantity {
  std::int64_t bytes = 0;
  std::int64_t precision = 0;  // bytes that rounding at the source may be off by
  std::string source;          // "nvidia-smi", "snapshot"
};

// What the framework's pool is.
enum class ReservedKind : std::uint8_t {
  kFramework,     // what its allocator takes from the driver as it needs it
  kXlaPool,       // XLA's, taken from the driver in one piece
  kBfcPool,       // the pool of XLA or TensorFlow as its dump lists it: chunks, not requests
  kWholeProcess,  // no framework's: what the process took from the driver, whichever code requested
                  // it
  kPlan,          // none: a compiler's plan of what a program will need
  kNoDevice,      // none: a heap that the input says no device of
};

struct AccountFacts {
  std::optional<Quantity> capacity;
  std::optional<Quantity> free;     // of the device
  std::optional<Quantity> used;     // of the device
  std::optional<Quantity> process;  // this process on the device
  // Of the process, besides the framework: what a log of the driver's calls holds outside the
  // segments.
  std::optional<Quantity> recorded;
  std::optional<Quantity> reserved;   // the framework's allocator took this from the driver
  std::optional<Quantity> allocated;  // and handed this out, rounded
  std::optional<Quantity> requested;  // for this many requested bytes
  ReservedKind reserved_kind = ReservedKind::kFramework;
  std::string platform;                    // as Origin::platform
  std::optional<std::int64_t> pool_limit;  // of kXlaPool, in bytes
  // What is cached cannot be distinguished from what is allocated: MXNet's log keeps the row of a
  // block that went back to its pool.
  bool cached_unknown = false;
  // Of what is cached (see FreeMemory): what could go back to the driver, what is free in pools of
  // CUDA graphs and MemPools (none where nothing is), and gaps that a request of `request` bytes,
  // the largest in question (0 where nothing is fragmented), can use or cannot.
  std::optional<Quantity> releasable;
  std::optional<Quantity> private_pools;
  std::optional<Quantity> reusable;
  std::optional<Quantity> fragmented;
  std::int64_t request = 0;
  // Of what is allocated: what lies in no block that the file lists; none where nothing does.
  std::optional<Quantity> unlisted;
};

struct AccountStep {
  enum class Kind : std::uint8_t {
    kFact,        // a figure that an input gives
    kDifference,  // of two figures
    kUnknown,
  };
  std::string key;  // stable: "used", "other_processes"
  int level = 0;    // parts stand one level below their whole
  Kind kind = Kind::kUnknown;
  std::int64_t bytes = 0;
  std::int64_t precision = 0;
  std::string source;  // of a fact; for a difference, both sources
  // Unknown, because its figures contradict each other by more than rounding explains: they are of
  // different moments, processes or devices.
  bool contradicts = false;
};

// Fills in whichever of free, used and capacity follows from the other two.
void Complete(AccountFacts& facts);

// Adds from `more` what `facts` does not say yet: the first statement about a step wins.
void Supplement(AccountFacts& facts, const AccountFacts& more);

// Every step in the order of the ladder, unknown ones too; but recorded, unrecorded, private pools,
// reusable and unlisted only where they are known, and of a plan or a heap without a device only
// what is known: nothing about the device can be found out from it.
std::vector<AccountStep> MakeAccountSteps(const AccountFacts& given);

// What a recording with a history says at the chosen moments, one per trace: all that follows from
// an allocator's state, else what was reserved, as far as the format can show; at a failed
// allocation also what the driver had free.
AccountFacts MakeFacts(const HistoryIndex& index, const std::vector<MomentOfTrace>& moments);

}  // namespace memtool
