// The account: one ladder from a device's capacity down to what a program's rows hold, where each
// step is the difference of two figures of different origin. What no input tells stays unknown.
//
//   capacity = free + used
//   used     = other processes + this process
//   process  = below the framework + reserved     (context, libraries, NCCL, other allocators)
//   below    = recorded + unrecorded              (a log of the driver's calls tells)
//   reserved = cached + allocated                 (cached = releasable + private pools +
//   fragmented) allocated = rounding + requested requested = buckets
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/select/at_moment.h"

namespace memtool {

// A figure and who says so.
struct Quantity {
  std::int64_t bytes = 0;
  std::int64_t precision = 0;  // bytes that rounding at the source may be off by
  std::string source;          // "nvidia-smi", "snapshot"
};

struct AccountFacts {
  std::optional<Quantity> capacity;
  std::optional<Quantity> free;     // of the device
  std::optional<Quantity> used;     // of the device
  std::optional<Quantity> process;  // this process on the device
  // Of the process, beside the framework: what a log of the driver's calls holds outside of
  // segments.
  std::optional<Quantity> recorded;
  std::optional<Quantity> reserved;   // the framework's allocator took this from the driver
  std::optional<Quantity> allocated;  // and gave this out, rounded
  std::optional<Quantity> requested;  // for this many bytes asked for
  std::string reserved_note;          // what the framework's pool is, where there is more to say
  // Of what is cached, see FreeMemory: what could go back to the driver, and what is free in pools
  // of CUDA graphs and MemPools; none where nothing is.
  std::optional<Quantity> releasable;
  std::optional<Quantity> private_pools;
};

struct AccountStep {
  enum class Kind : std::uint8_t {
    kFact,        // a figure that an input gives
    kDifference,  // of two figures
    kUnknown,
  };
  std::string key;   // "used", "other_processes"
  std::string name;  // "other processes"
  int level = 0;     // indentation: parts stand one level below their whole
  Kind kind = Kind::kUnknown;
  std::int64_t bytes = 0;
  std::int64_t precision = 0;
  std::string source;  // of facts; of differences the two sources
  std::string note;    // what it is, or what would tell
};

// Fills in what follows from two others (free, used, capacity).
void Complete(AccountFacts& facts);

// Every step in the order of the ladder, unknown ones too. A negative difference is kept: its note
// says that the figures are of different moments or places.
std::vector<AccountStep> Account(const AccountFacts& given);

// What a recording with a history or an allocator's state says of `device` (-1 = all) at the chosen
// moments: reserved, allocated, requested, releasable as far as the format tells.
AccountFacts FactsOf(const Recording& recording, const std::vector<MomentOfTrace>& moments,
                     std::int32_t device);

}  // namespace memtool
