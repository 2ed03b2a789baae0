#include "oom/oom_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::commands {

namespace {

std::optional<Quantity> QuantityOf(const std::optional<formats::OomNumber>& number) {
  return number ? std::optional(Quantity{
                      .bytes = number->bytes, .precision = number->precision, .source = "message"})
                : std::nullopt;
}

// What is left of `whole` when `part` is taken; never below zero by mere rounding.
Quantity Left(const Quantity& whole, const Quantity& part) {
  Quantity left{.bytes = SaturatingSubtract(whole.bytes, part.bytes),
                .precision = SaturatingAdd(whole.precision, part.precision),
                .source = whole.source};
  if (left.bytes < 0 && left.bytes >= -left.precision) {
    left.bytes = 0;
  }
  return left;
}

// More in all than the device has, by more than rounding explains.
bool ProcessesContradict(const formats::OomMessage& message) {
  if (!message.capacity || !message.free) {
    return false;
  }
  std::int64_t over = SaturatingSubtract(message.free->bytes, message.capacity->bytes);
  std::int64_t precision = SaturatingAdd(message.free->precision, message.capacity->precision);
  const auto add = [&](const std::optional<formats::OomNumber>& used) {
    over = SaturatingAdd(over, used ? used->bytes : 0);
    precision = SaturatingAdd(precision, used ? used->precision : 0);
  };
  add(message.process);
  for (const formats::OomProcess& process : message.others) {
    add(process.used);
  }
  return over > precision;
}

}  // namespace

void Conclude(OomCase& found) {
  found.ladder = MakeLadder(found.facts);
  found.verdict = Judge(found.facts, found.state ? &*found.state : nullptr);
}

OomCase CaseOf(const formats::OomMessage& message) {
  OomCase found{.failed = true, .message = message};
  if (message.wording == formats::OomWording::kHost) {
    found.where = "the host";
  } else if (message.gpu) {
    found.where = fmt::format("{} {}", PlatformOf(found).device, *message.gpu);
  }
  if (message.rank) {
    found.where += fmt::format("{}rank {}", found.where.empty() ? "" : " of ", *message.rank);
  }
  OomFacts& facts = found.facts;
  facts.asked = QuantityOf(message.asked);
  facts.wanted = facts.asked;  // messages name the segment that the driver refused
  facts.free = QuantityOf(message.free);
  facts.capacity = QuantityOf(message.capacity);
  facts.limit = QuantityOf(message.limit);
  facts.process = QuantityOf(message.process);
  facts.live = QuantityOf(message.allocated);
  facts.private_pools = QuantityOf(message.private_pools);
  facts.cached = QuantityOf(message.unallocated);
  const auto reserved = QuantityOf(message.reserved);
  if (!facts.cached && reserved && facts.live) {
    facts.cached = Left(*reserved, *facts.live);
  }
  if (message.wording == formats::OomWording::kTorchMps && facts.limit && facts.live &&
      message.outside) {
    // One memory for all: what MPS may take is what there is, and others share it.
    facts.capacity = std::exchange(facts.limit, std::nullopt);
    facts.free = Left(Left(*facts.capacity, *facts.live), *QuantityOf(message.outside));
    facts.free->bytes = std::max<std::int64_t>(facts.free->bytes, 0);
  }
  if (message.wording == formats::OomWording::kXla && facts.limit && facts.live) {
    // XLA has its pool from the driver at the start; all that it gives out is in it.
    facts.capacity = std::exchange(facts.limit, std::nullopt);
    facts.free = Quantity{.source = "message"};
    facts.cached = Left(*facts.capacity, *facts.live);
  }
  Conclude(found);
  if (facts.capacity && message.wording == formats::OomWording::kTorchMps &&
      found.verdict.short_of_driver > 0) {
    found.verdict.why = OomWhy::kLimit;
  }
  if (IsPool(found) && found.ladder) {
    std::erase_if(found.ladder->parts,
                  [](const OomPart& part) { return part.bytes == 0 && part.precision == 0; });
  }
  if (message.absurd) {
    found.verdict.why = OomWhy::kTooLarge;
  }
  found.processes_contradict = ProcessesContradict(message);
  return found;
}

OomPlatform PlatformOf(const OomCase& found) {
  const std::string kind = found.message ? found.message->kind : "CUDA";
  OomPlatform platform{.framework = kind == "XLA" ? "XLA" : "PyTorch",
                       .device = "GPU",
                       .context = kind + " context, libraries",
                       .variable = "PYTORCH_" + kind + "_ALLOC_CONF",
                       .cuda = false};
  if (kind.empty() || kind == "CUDA" || kind == "Cuda") {
    platform.context = "CUDA context, libraries, NCCL";
    platform.variable = "PYTORCH_CUDA_ALLOC_CONF";
    platform.cuda = true;
  } else if (kind == "HIP") {
    platform.context = "HIP context, libraries, RCCL";
  } else if (kind == "MPS") {
    platform.outside = "other allocations on the device";
  } else if (kind == "NPU" || kind == "MLU" || kind == "MUSA") {
    platform.device = kind;
  }
  if (platform.outside.empty()) {
    platform.outside = platform.context + ", other processes";
  }
  if (found.message && !found.message->variable.empty()) {
    platform.variable = found.message->variable;
  }
  return platform;
}

bool IsPool(const OomCase& found) {
  return found.message && found.message->kind == "XLA" && found.facts.cached;
}

std::optional<Quantity> LiveOf(const OomCase& found) {
  const OomFacts& facts = found.facts;
  return facts.live && facts.private_pools ? Left(*facts.live, *facts.private_pools) : facts.live;
}

std::string VerdictName(const OomCase& found) {
  if (!found.failed) {
    return "none";
  }
  switch (found.verdict.why) {
    case OomWhy::kLimit:
      return "limit";
    case OomWhy::kFragmentation:
      return "fragmentation";
    case OomWhy::kFull:
      return "full";
    case OomWhy::kTooLarge:
      return "too-large";
    case OomWhy::kUnexplained:
      return "unexplained";
    case OomWhy::kUnknown:
      break;
  }
  return "unknown";
}

std::string PartText(const OomCase& found, const OomPart& part) {
  const OomPlatform platform = PlatformOf(found);
  const std::array<std::pair<std::string_view, std::string>, 8> texts{{
      {"free", "free in the driver"},
      {"live", platform.framework + " live: blocks that the program holds"},
      {"private_pools", "free in pools of CUDA graphs: only their graphs can use it"},
      {"pending", platform.framework + " pending: given up, but a stream may still use it"},
      {"cached", platform.framework + " cached: free in its allocator"},
      {"non_framework", "this process outside PyTorch: " + platform.context},
      {"other", "everything else: other processes, the driver"},
      {"outside", "outside PyTorch: " + platform.outside},
  }};
  const auto* const known = std::find_if(
      texts.begin(), texts.end(), [&part](const auto& each) { return each.first == part.key; });
  std::string text = known == texts.end() ? part.key : known->second;
  if (part.key == "cached" && found.state && found.state->pieces > 0) {
    text = fmt::format("PyTorch cached: free in {} piece{}, the largest {}",
                       FormatCount(found.state->pieces), found.state->pieces == 1 ? "" : "s",
                       FormatSize(found.state->largest_free));
  }
  if (part.bytes < -part.precision) {
    text += " (negative: the figures contradict each other)";
  }
  return text;
}

std::string WholeText(const OomCase& found) {
  const std::string size = FormatSize(found.ladder->whole.bytes);
  switch (found.ladder->kind) {
    case OomWhole::kCapacity:
      if (found.message && found.message->wording == formats::OomWording::kTorchMps) {
        return "allowed " + size;
      }
      return (IsPool(found) ? "XLA's pool " : "capacity ") + size;
    case OomWhole::kKnown:
      return "known " + size + " (the capacity is not told)";
    case OomWhole::kReserved:
      break;
  }
  return "reserved " + size;
}

}  // namespace memtool::commands
