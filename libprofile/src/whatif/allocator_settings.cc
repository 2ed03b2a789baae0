#include "memtool/profile/whatif/allocator_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/model/vendor.h"

namespace memtool::whatif {

namespace {

// Settings that change nothing which a recording could show: when memory is asked for, pinned host
// memory, address space alone.
constexpr auto kKnownButNotModelled = std::to_array<std::string_view>({
    "backend",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "pinned_num_register_threads",
    "pinned_use_background_threads",
    "pinned_reserve_segment_size_mb",
    "pinned_free_catch_all",
    "graph_capture_record_stream_reuse",
    "throw_on_cudamalloc_oom",
    "expandable_segments_reserve",
    "expandable_segments_reserve_by_class",
    "roundup_bypass_threshold_mb",
    // Of torch_npu, where the last four also move blocks or size segments.
    "release_lock_on_npumalloc",
    "throw_on_npumalloc_oom",
    "pin_memory_expandable_segments",
    "pinned_mem_register",
    "multi_stream_lazy_reclaim",
    "base_addr_aligned_kb",
    "page_size",
    "segment_size_mb",
});

constexpr auto kModelled = std::to_array<std::string_view>({
    "expandable_segments",
    "max_split_size_mb",
    "max_non_split_rounding_mb",
    "garbage_collection_threshold",
    "per_process_memory_fraction",
    "roundup_power2_divisions",
    "large_segment_size_mb",
});

tl::unexpected<Error> BadConf(std::string_view name, std::string_view why) {
  return Fail(ErrorCode::kUsage, fmt::format("allocator setting {}: {}", name, why));
}

bool IsPowerOfTwo(std::int64_t value) {
  return value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value));
}

struct Pair {
  std::string name;
  std::string value;  // with its brackets
};

// "a:1,b:[2:3,>:4]" at its commas outside of brackets. PyTorch drops spaces.
Result<std::vector<Pair>> SplitConf(std::string_view text) {
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
               [](char c) { return c != ' '; });
  std::vector<Pair> pairs;
  std::size_t from = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= plain.size(); ++at) {
    const char c = at < plain.size() ? plain[at] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ',' || (depth != 0 && at < plain.size())) {
      continue;
    }
    const std::string item = plain.substr(from, at - from);
    from = at + 1;
    if (item.empty() && at == plain.size()) {
      break;  // nothing, or a comma at the end
    }
    const std::size_t colon = item.find(':');
    if (depth != 0) {
      return BadConf(item.substr(0, colon), "a bracket is not closed");
    }
    if (colon == std::string::npos || colon == 0) {
      return Fail(ErrorCode::kUsage, fmt::format("'{}' is no allocator setting", item),
                  "NAME:VALUE, with commas between several");
    }
    pairs.push_back({item.substr(0, colon), item.substr(colon + 1)});
  }
  return pairs;
}

Result<std::int64_t> Megabytes(const Pair& pair, std::int64_t least) {
  const auto value = ParseNumber<std::int64_t>(pair.value);
  if (!value) {
    return BadConf(pair.name, fmt::format("'{}' is no number of MiB", pair.value));
  }
  if (*value < least) {
    return BadConf(pair.name, fmt::format("{} is too small, the least is {}", *value, least));
  }
  return std::min(*value, kNoSplitLimit / kMiB) * kMiB;
}

Result<double> Share(const Pair& pair, bool one_is_allowed) {
  const auto value = ParseNumber<double>(pair.value);
  if (!value || !(*value > 0) || *value > 1 || (*value == 1 && !one_is_allowed)) {
    return BadConf(pair.name,
                   fmt::format("'{}' is no share {}", pair.value,
                               one_is_allowed ? "above 0, 1 at most" : "between 0 and 1"));
  }
  return *value;
}

Result<bool> Flag(const Pair& pair) {
  if (pair.value != "True" && pair.value != "False") {
    return BadConf(pair.name, fmt::format("'{}' is neither True nor False", pair.value));
  }
  return pair.value == "True";
}

// "[256:1,512:2,>:8]": intervals by their lower end in MiB. The first also serves all below it, ">"
// all above the last one named; what is not named in between is off.
Result<void> ReadIntervals(const Pair& pair, AllocatorSettings& settings) {
  auto& table = settings.roundup_power2_divisions;
  const std::string inner = pair.value.substr(1, pair.value.size() - 2);
  auto items = SplitConf(inner);
  MEMTOOL_TRY(items);
  std::size_t last = 0;
  bool first = true;
  for (const Pair& item : *items) {
    const auto divisions = ParseNumber<std::int64_t>(item.value);
    if (!divisions || (*divisions != 0 && !IsPowerOfTwo(*divisions))) {
      return BadConf(pair.name, fmt::format("'{}' is neither 0 nor a power of 2", item.value));
    }
    if (item.name == ">") {
      std::fill(table.begin() + static_cast<std::ptrdiff_t>(std::min(last + 1, table.size())),
                table.end(), *divisions);
      continue;
    }
    const auto lower = ParseNumber<std::int64_t>(item.name);
    if (!lower || !IsPowerOfTwo(*lower)) {
      return BadConf(pair.name, fmt::format("interval '{}' is no power of 2", item.name));
    }
    last =
        std::min(static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(*lower))) - 1,
                 table.size() - 1);
    if (first) {
      std::fill(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(last), *divisions);
      first = false;
    }
    table.at(last) = *divisions;
  }
  return {};
}

Result<void> ReadDivisions(const Pair& pair, AllocatorSettings& settings) {
  settings.roundup_power2_divisions.fill(0);
  if (pair.value.size() >= 2 && pair.value.front() == '[' && pair.value.back() == ']') {
    return ReadIntervals(pair, settings);
  }
  const auto divisions = ParseNumber<std::int64_t>(pair.value);
  if (!divisions || !IsPowerOfTwo(*divisions)) {
    return BadConf(pair.name, fmt::format("'{}' is no power of 2", pair.value));
  }
  settings.roundup_power2_divisions.fill(*divisions);
  return {};
}

// `least_split`: PyTorch's own lower bound, which is the size of segments for medium blocks.
Result<void> ReadSize(const Pair& pair, AllocatorSettings& settings) {
  constexpr std::int64_t kMinSplit = 20;
  auto bytes = Megabytes(pair, pair.name == "large_segment_size_mb" ? 2 : kMinSplit);
  MEMTOOL_TRY(bytes);
  if (pair.name == "max_split_size_mb") {
    settings.max_split_size = *bytes;
  } else if (pair.name == "max_non_split_rounding_mb") {
    settings.max_non_split_rounding = *bytes;
  } else {
    if (*bytes % kSizes.round_segment != 0 || *bytes < kSizes.own_segment) {
      return BadConf(pair.name, fmt::format("{} is no multiple of 2 from 10 on", pair.value));
    }
    settings.large_segment = *bytes;
  }
  return {};
}

Result<void> ReadPair(const Pair& pair, AllocatorSettings& settings) {
  if (pair.name.ends_with("_mb") &&
      std::find(kModelled.begin(), kModelled.end(), pair.name) != kModelled.end()) {
    return ReadSize(pair, settings);
  }
  if (pair.name == "expandable_segments") {
    auto on = Flag(pair);
    MEMTOOL_TRY(on);
    settings.expandable_segments = *on;
    return {};
  }
  if (pair.name == "garbage_collection_threshold" || pair.name == "per_process_memory_fraction") {
    const bool fraction = pair.name.front() == 'p';
    auto share = Share(pair, fraction);
    MEMTOOL_TRY(share);
    (fraction ? settings.memory_fraction : settings.garbage_collection_threshold) = *share;
    return {};
  }
  if (pair.name == "roundup_power2_divisions") {
    return ReadDivisions(pair, settings);
  }
  const auto* const known =
      std::find(kKnownButNotModelled.begin(), kKnownButNotModelled.end(), pair.name);
  if (known == kKnownButNotModelled.end()) {
    return Fail(ErrorCode::kUsage, fmt::format("no allocator setting is called '{}'", pair.name),
                fmt::format("modelled: {}", fmt::join(kModelled, ", ")));
  }
  if (pair.name == "backend") {
    settings.other_allocator = pair.value != "native";
    return {};
  }
  settings.not_modelled.push_back({pair.name, pair.value});
  return {};
}

// large_segment_size_mb moves the default of the other one along.
void FollowSegmentSize(std::span<const Pair> pairs, AllocatorSettings& settings) {
  const bool own = std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.name == "max_non_split_rounding_mb";
  });
  settings.max_non_split_rounding = own ? settings.max_non_split_rounding : settings.large_segment;
}

// One setting as a snapshot's dict has it: in bytes, with its own spelling of "none".
void TakeRecorded(const Setting& setting, AllocatorSettings& settings) {
  constexpr std::string_view kDivisions = "roundup_power2_divisions.";
  const auto number = ParseNumber<std::int64_t>(setting.value);
  if (setting.name.starts_with(kDivisions) && number) {
    const auto lower =
        ParseNumber<std::int64_t>(std::string_view(setting.name).substr(kDivisions.size()));
    if (lower && IsPowerOfTwo(*lower) && *lower < std::int64_t{1} << kRoundingIntervals) {
      settings.roundup_power2_divisions.at(
          static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(*lower))) - 1) =
          *number;
    }
  } else if (setting.name == "max_split_size" && number) {
    settings.max_split_size = *number > 0 ? *number : kNoSplitLimit;
  } else if (setting.name == "expandable_segments") {
    settings.expandable_segments = setting.value == "true" || setting.value == "True";
  } else if (setting.name == "garbage_collection_threshold") {
    settings.garbage_collection_threshold = ParseNumber<double>(setting.value).value_or(0);
  } else if (setting.name == "per_process_memory_fraction") {
    settings.memory_fraction = ParseNumber<double>(setting.value).value_or(0);
  }
}

// Some versions of a back end pad, and no setting says so: what a block takes more than its request
// does, where padding makes a difference. A block that is too small for it is of another version.
std::int64_t PaddingOf(const Recording& recording) {
  const std::int64_t padding = VendorOf(recording.metadata.origin.platform).padding;
  bool shown = false;
  if (padding == 0 || !recording.state) {
    return 0;
  }
  const auto rounded = [](std::int64_t size) {
    return SaturatingAdd(size, kSizes.block - 1) / kSizes.block * kSizes.block;
  };
  for (const Block& block : recording.state->blocks) {
    if (block.state == BlockState::kActive && block.requested > 0) {
      const std::int64_t padded = rounded(SaturatingAdd(block.requested, padding));
      if (block.size < padded) {
        return 0;
      }
      shown = shown || padded > rounded(block.requested);
    }
  }
  return shown ? padding : 0;
}

}  // namespace

Result<AllocatorSettings> ParseAllocatorConf(std::string_view text) {
  AllocatorSettings settings;
  settings.text = text;
  for (const std::string_view name : {"PYTORCH_CUDA_ALLOC_CONF=", "PYTORCH_ALLOC_CONF=",
                                      "PYTORCH_HIP_ALLOC_CONF=", "PYTORCH_NPU_ALLOC_CONF="}) {
    text = text.starts_with(name) ? text.substr(name.size()) : text;
  }
  auto pairs = SplitConf(text);
  MEMTOOL_TRY(pairs);
  for (const Pair& pair : *pairs) {
    MEMTOOL_TRY(ReadPair(pair, settings));
  }
  FollowSegmentSize(*pairs, settings);
  return settings;
}

AllocatorSettings RecordedSettings(const Recording& recording) {
  AllocatorSettings settings;
  // The variable's text first, for what the dict does not list; the dict decides.
  for (const Setting& setting : recording.settings) {
    if (!setting.name.ends_with("_ALLOC_CONF")) {
      continue;
    }
    auto pairs = SplitConf(setting.value);
    for (const Pair& pair : pairs ? *pairs : std::vector<Pair>{}) {
      if (!ReadPair(pair, settings)) {
        settings.not_modelled.push_back({pair.name, pair.value});
      }
    }
    FollowSegmentSize(pairs ? *pairs : std::vector<Pair>{}, settings);
    settings.text = setting.value;
  }
  for (const Setting& setting : recording.settings) {
    TakeRecorded(setting, settings);
  }
  settings.padding = PaddingOf(recording);
  settings.text = settings.text.empty() ? ConfText(settings) : settings.text;
  return settings;
}

namespace {

std::string DivisionsText(const AllocatorSettings& settings) {
  const auto& table = settings.roundup_power2_divisions;
  if (std::all_of(table.begin(), table.end(), [&](std::int64_t d) { return d == table[0]; })) {
    return std::to_string(table[0]);
  }
  std::string text;
  for (std::size_t i = 0; i < table.size(); ++i) {
    text += fmt::format("{}{}:{}", i == 0 ? "[" : ",", std::size_t{1} << i, table.at(i));
  }
  return text + "]";
}

}  // namespace

std::string ConfText(const AllocatorSettings& settings) {
  const AllocatorSettings defaults;
  std::vector<std::string> parts;
  if (settings.expandable_segments) {
    parts.emplace_back("expandable_segments:True");
  }
  if (!settings.splits_everything()) {
    parts.push_back(fmt::format("max_split_size_mb:{}", settings.max_split_size / kMiB));
  }
  if (settings.max_non_split_rounding != settings.large_segment) {
    parts.push_back(
        fmt::format("max_non_split_rounding_mb:{}", settings.max_non_split_rounding / kMiB));
  }
  if (settings.garbage_collection_threshold > 0) {
    parts.push_back(
        fmt::format("garbage_collection_threshold:{}", settings.garbage_collection_threshold));
  }
  if (settings.memory_fraction > 0) {
    parts.push_back(fmt::format("per_process_memory_fraction:{}", settings.memory_fraction));
  }
  if (settings.roundup_power2_divisions != defaults.roundup_power2_divisions) {
    parts.push_back("roundup_power2_divisions:" + DivisionsText(settings));
  }
  if (settings.large_segment != defaults.large_segment) {
    parts.push_back(fmt::format("large_segment_size_mb:{}", settings.large_segment / kMiB));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace memtool::whatif
