// Settings of PyTorch's CUDA caching allocator, as PYTORCH_CUDA_ALLOC_CONF and snapshots name them
// (versions up to 2.14).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::whatif {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20U;

// The sizes of c10/cuda/CUDACachingAllocator.cpp, in bytes.
struct Sizes {
  std::int64_t block = 512;   // blocks are multiples of this
  std::int64_t small = kMiB;  // up to this, blocks come from segments for small ones
  std::int64_t small_segment = 2 * kMiB;
  std::int64_t own_segment = 10 * kMiB;   // from this on, a new segment is made for the request
  std::int64_t round_segment = 2 * kMiB;  // and is a multiple of this
};
inline constexpr Sizes kSizes;
inline constexpr std::int64_t kNoSplitLimit = std::numeric_limits<std::int64_t>::max();
inline constexpr std::size_t kRoundingIntervals = 16;

struct AllocatorSettings {
  std::string text;  // as it was given; empty = PyTorch's defaults

  bool expandable_segments = false;
  std::int64_t max_split_size = kNoSplitLimit;
  std::int64_t max_non_split_rounding = 20 * kMiB;
  double garbage_collection_threshold = 0;  // 0 = off; acts only with a memory fraction
  double memory_fraction = 0;               // of the card; 0 = not set
  // From 1 MiB to 32 GiB, a power of two each; the ends also serve what lies beyond them. 0 and 1:
  // multiples of 512 bytes only.
  std::array<std::int64_t, kRoundingIntervals> roundup_power2_divisions{};
  // What segments for blocks of 1 to 10 MiB and pages of expandable segments are made of.
  std::int64_t large_segment = 20 * kMiB;
  // What is added to a request before it is rounded: no setting, but a habit of some back ends.
  std::int64_t padding = 0;

  // What was set and changes no figure here although it might change the program's: by name.
  std::vector<Setting> not_modelled{};
  // Not PyTorch's own allocator (backend:cudaMallocAsync, caching switched off): nothing to replay.
  bool other_allocator = false;

  [[nodiscard]] bool splits_everything() const { return max_split_size == kNoSplitLimit; }

  friend bool operator==(const AllocatorSettings&, const AllocatorSettings&) = default;
};

// "expandable_segments:True,max_split_size_mb:128": the value of PYTORCH_CUDA_ALLOC_CONF, with
// PyTorch's rules about values; `text` may begin with the variable's name and "=". Names that this
// library does not know are errors, because a misspelt setting would look like one that does not
// help. Errors: kUsage, with the setting's name.
Result<AllocatorSettings> ParseAllocatorConf(std::string_view text);

// What the file says of its own settings; PyTorch's defaults where it says nothing. Never fails:
// what cannot be read is in `not_modelled`.
AllocatorSettings RecordedSettings(const Recording& recording);

// As PYTORCH_CUDA_ALLOC_CONF would say it; "default settings" is empty.
std::string ConfText(const AllocatorSettings& settings);

}  // namespace memtool::whatif
