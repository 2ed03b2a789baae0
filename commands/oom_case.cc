#include "oom_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "memtool/profile/analysis/values.h"
#include "memtool/profile/sizes.h"

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

}  // namespace

void Conclude(OomCase& found) {
  found.ladder = MakeLadder(found.facts);
  found.verdict = Judge(found.facts, found.state ? &*found.state : nullptr);
}

OomCase CaseOf(const formats::OomMessage& message) {
  OomCase found{.failed = true};
  if (message.gpu) {
    found.where = fmt::format("GPU {}", *message.gpu);
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
  found.message = message;
  Conclude(found);
  return found;
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
    case OomWhy::kUnexplained:
      return "unexplained";
    case OomWhy::kUnknown:
      break;
  }
  return "unknown";
}

std::string PartText(const OomCase& found, const OomPart& part) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTexts{{
      {"free", "free in the driver"},
      {"live", "PyTorch live: blocks that the program holds"},
      {"private_pools", "free in pools of CUDA graphs: only their graphs can use it"},
      {"pending", "PyTorch pending: given up, but a stream may still use it"},
      {"cached", "PyTorch cached: free in its allocator"},
      {"non_framework", "this process outside PyTorch: CUDA context, libraries, NCCL"},
      {"other", "everything else: other processes, the driver"},
      {"outside", "outside PyTorch: CUDA context, libraries, other processes"},
  }};
  const auto* const known = std::find_if(
      kTexts.begin(), kTexts.end(), [&part](const auto& each) { return each.first == part.key; });
  std::string text(known == kTexts.end() ? std::string_view(part.key) : known->second);
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

std::string WholeText(const OomLadder& ladder) {
  const std::string size = FormatSize(ladder.whole.bytes);
  switch (ladder.kind) {
    case OomWhole::kCapacity:
      return "capacity " + size;
    case OomWhole::kKnown:
      return "known " + size + " (the capacity is not told)";
    case OomWhole::kReserved:
      break;
  }
  return "reserved " + size;
}

}  // namespace memtool::commands
