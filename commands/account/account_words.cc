#include "account/account_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "memtool/profile/base/sizes.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

struct StepWords {
  std::string_view key;
  std::string_view name;
  std::string_view note;     // what it is
  std::string_view missing;  // what would tell it; empty: the note says so
};

constexpr auto kSteps = std::to_array<StepWords>(
    {{"capacity", "capacity", "what the device has",
      "--capacity, or nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv"},
     {"free", "free", "the driver could still give this", "follows from capacity and used"},
     {"used", "used", "all processes together",
      "nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv"},
     {"driver_reserved", "the driver's own", "neither free nor used", {}},
     {"other_processes", "other processes", "what the driver lists nowhere else is in it", {}},
     {"process", "this process", "as the driver sees it",
      "nvidia-smi --query-compute-apps=pid,used_memory --format=csv"},
     {"below_framework",
      "below the framework",
      "CUDA context, cuBLAS, cuDNN, NCCL, graphs, other allocators",
      {}},
     {"recorded", "in the driver's log", "allocated beside the framework's allocator", {}},
     {"unrecorded",
      "not in the log",
      "CUDA context and modules: the driver takes them without a call",
      {}},
     {"reserved", "reserved", "what the framework took from the driver",
      "a snapshot, or memory_stats()"},
     {"cached", "cached", "free inside the framework's allocator", {}},
     {"releasable", "returnable",
      "unused segments, whole pages of expandable ones: empty_cache() gives them back",
      "needs the segments of a snapshot, and all their blocks"},
     {"private_pools",
      "private pools",
      "free for graphs and MemPools only, and kept while these live",
      {}},
     {"reusable", "reusable", "gaps beside live blocks, where the largest request fits", {}},
     {"fragmented", "fragmentation", "gaps beside live blocks, too small to be of use",
      "needs the segments of a snapshot, and all their blocks"},
     {"allocated", "allocated", "live blocks, rounded", "a snapshot, or memory_stats()"},
     {"unlisted", "unlisted", "in no block that the file lists", {}},
     {"rounding", "rounding", "blocks are larger than what was asked for", {}},
     {"requested", "requested", "what the program asked for", "a snapshot"}});

const StepWords& ToWords(std::string_view key) {
  return *std::find_if(kSteps.begin(), kSteps.end(),
                       [key](const StepWords& words) { return words.key == key; });
}

// XLA takes its memory from the driver in one pool.
std::string PoolNote(std::optional<std::int64_t> limit) {
  return limit ? fmt::format(
                     "XLA's pool, preallocated; its limit is {} "
                     "(XLA_PYTHON_CLIENT_MEM_FRACTION)",
                     FormatSize(*limit))
               : "XLA preallocates three quarters of a GPU (XLA_PYTHON_CLIENT_PREALLOCATE); "
                 "device.memory_stats() as JSON says how much it took";
}

// Of what a compiler planned.
std::string_view PlanNote(std::string_view key) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNotes{
      {{"reserved", "what the program needs while it runs, as its compiler laid it out"},
       {"cached", "of that, in no buffer that is live at this moment"},
       {"allocated", "buffers that are live at this moment"},
       {"requested", "the size of their values"}}};
  const auto* const found = std::find_if(kNotes.begin(), kNotes.end(),
                                         [key](const auto& note) { return note.first == key; });
  return found == kNotes.end() ? std::string_view{} : found->second;
}

std::string FindLargest(const AccountRow& row) {
  if (row.entries.size() == 1) {
    return NameText(row.entries.front().name);
  }
  std::string text;
  for (const BucketEntry& entry : row.entries) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", NameText(entry.name),
                        FormatSize(entry.sum.bytes));
  }
  return row.more_entries > 0 ? text + fmt::format(", {} more", row.more_entries) : text;
}

// What a step is to another kind of reserved memory than a caching allocator's; or nothing.
std::string KindNote(const AccountStep& step, const AccountFacts& facts) {
  const bool reserved = step.key == "reserved";
  switch (facts.reserved_kind) {
    case ReservedKind::kXlaPool:
    case ReservedKind::kBfcPool:
      return reserved && facts.reserved_kind == ReservedKind::kXlaPool ? PoolNote(facts.pool_limit)
             : step.key == "releasable" && step.kind == AccountStep::Kind::kFact
                 ? "unused regions of the pool"
                 : "";
    case ReservedKind::kPlan:
      return std::string(PlanNote(step.key));
    case ReservedKind::kWholeProcess:
      return reserved ? "what the process took from the driver, whoever asked for it" : "";
    default:
      return "";
  }
}

std::string WhatItIs(const AccountStep& step, const AccountFacts& facts) {
  if (step.contradicts) {
    return "the figures that tell it are of different moments, processes or devices";
  }
  if (step.key == "below_framework" && !facts.platform.empty()) {
    return facts.platform + " context, libraries, other allocators";
  }
  if (std::string note = KindNote(step, facts); !note.empty()) {
    return note;
  }
  if (step.key == "allocated" && facts.cached_unknown) {
    return "given out, as the pool rounded it; blocks that went back keep their rows";
  }
  if (step.key == "cached" && facts.cached_unknown) {
    return "the log does not tell it from what is allocated";
  }
  if (step.key == "fragmented" && facts.request > 0) {
    return fmt::format("gaps beside live blocks, too small for a request of {}",
                       FormatSize(facts.request));
  }
  const StepWords& words = ToWords(step.key);
  const bool missing = step.kind == AccountStep::Kind::kUnknown && !words.missing.empty();
  if (missing && !facts.platform.empty() && words.missing.find("nvidia") != words.missing.npos) {
    return step.key == "capacity" ? "--capacity" : "the vendor's tool tells it";
  }
  return std::string(missing ? words.missing : words.note);
}

}  // namespace

std::string_view StepName(const AccountRow& row) {
  return row.bucket.empty() ? ToWords(row.step.key).name : row.bucket;
}

std::string StepNote(const AccountRow& row, const AccountFacts& facts) {
  if (!row.bucket.empty()) {
    return FindLargest(row);
  }
  const std::string note = WhatItIs(row.step, facts);
  return row.step.kind == AccountStep::Kind::kUnknown ? "unknown: " + note : note;
}

}  // namespace memtool::commands
