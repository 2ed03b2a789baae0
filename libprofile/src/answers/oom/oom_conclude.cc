#include "answers/oom/oom_conclude.h"

#include <algorithm>

#include "answers/oom/oom_figures.h"
#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

// Up to this share of live data, the device counts as large enough.
constexpr double kMuchRoom = 0.75;

OomReason UnknownReason(const OomCase& found) {
  if (found.message && found.message->wording == OomWording::kHost) {
    return OomReason::kHostMemory;
  }
  const OomFacts& facts = found.facts;
  const auto& program = found.message ? found.message->program : nullptr;
  if (program && (program->total || program->program) && !facts.free) {
    return OomReason::kProgramOnly;
  }
  if (!facts.requested_bytes) {
    return OomReason::kNoFigures;
  }
  if (facts.free) {
    return OomReason::kCacheUnknown;
  }
  return facts.live || facts.cached || facts.limit || facts.capacity || facts.process
             ? OomReason::kFreeUnknown
             : OomReason::kOnlyRequested;
}

OomReason GetReason(const OomCase& found) {
  const OomFacts& facts = found.facts;
  if (!found.failed) {
    return OomReason::kNone;
  }
  if (found.message && found.message->wording == OomWording::kVllm && facts.requested_bytes) {
    return OomReason::kStartRefused;
  }
  if (found.message && found.message->reserve_too_small &&
      found.verdict.why != OomCause::kTooLarge) {
    return OomReason::kReserve;
  }
  switch (found.verdict.why) {
    case OomCause::kFragmentation:
      return OomReason::kFragmentation;
    case OomCause::kFull:
      if (found.message && IsOfPool(*found.message) && facts.limit) {
        return OomReason::kPoolRefused;
      }
      return found.verdict.short_in_all > 0 ? OomReason::kFull : OomReason::kNeither;
    case OomCause::kLimit:
      return facts.limit      ? OomReason::kLimit
             : found.snapshot ? OomReason::kUnstatedLimit
                              : OomReason::kMpsLimit;
    case OomCause::kTooLarge:
      return facts.requested_bytes ? OomReason::kTooLarge : OomReason::kAbsurd;
    case OomCause::kUnexplained:
      return found.state && facts.requested_bytes &&
                     found.state->usable_largest >= facts.requested_bytes->bytes
                 ? OomReason::kFreeBlockUnused
                 : OomReason::kDriverRefused;
    case OomCause::kUnknown:
      break;
  }
  return UnknownReason(found);
}

}  // namespace

void Judge(OomCase& found) {
  found.breakdown = MakeBreakdown(found.facts);
  found.verdict = Judge(found.facts, found.state ? &*found.state : nullptr);
}

namespace {

// XLA takes a program's temporaries, and each of its outputs, in one piece.
std::string RequestedPart(const OomCase& found) {
  const auto& requested_bytes = found.facts.requested_bytes;
  if (!requested_bytes || !found.message || !found.message->program) {
    return {};
  }
  const OomProgram& program = *found.message->program;
  const auto same = [&requested_bytes](const std::optional<OomNumber>& part) {
    constexpr std::int64_t kRounding = 512;  // to which allocators round up
    const std::int64_t blur = SaturatingAdd(
        SaturatingAdd(part ? part->precision : 0, requested_bytes->precision), kRounding);
    return part && part->bytes > 0 &&
           Magnitude(SaturatingSubtract(part->bytes, requested_bytes->bytes)) <= blur;
  };
  return same(program.temporaries) ? "temporaries" : same(program.outputs) ? "outputs" : "";
}

}  // namespace

void Conclude(OomCase& found) {
  const OomFacts& facts = found.facts;
  OomConclusion& conclusion = found.conclusion;
  conclusion.reason = GetReason(found);
  conclusion.requests =
      Share(found.verdict.in_all, std::max<std::int64_t>(GetBytes(facts.requested_bytes), 1));
  conclusion.held = SaturatingAdd(SaturatingAdd(GetBytes(facts.live), GetBytes(facts.pending)),
                                  GetBytes(facts.cached));
  conclusion.requested_part = RequestedPart(found);
  if (found.breakdown) {
    const std::int64_t live = SaturatingAdd(GetBytes(GetLive(found)), GetBytes(facts.pending));
    conclusion.live_share = Share(live, found.breakdown->whole.bytes);
  }
  if (found.state) {
    conclusion.free_share = Share(found.state->free, found.state->reserved);
  }
  if (conclusion.reason == OomReason::kFull) {
    conclusion.ruled_out = OomRuledOut::kFragmentation;
  } else if (conclusion.reason == OomReason::kFragmentation && found.breakdown &&
             found.breakdown->kind == BreakdownTotal::kCapacity &&
             conclusion.live_share <= kMuchRoom) {
    conclusion.ruled_out = OomRuledOut::kSmallDevice;
  }
}

std::string_view ToName(OomReason reason) {
  switch (reason) {
    case OomReason::kNone:
      break;
    case OomReason::kFragmentation:
      return "fragmentation";
    case OomReason::kFull:
      return "full";
    case OomReason::kPoolRefused:
      return "pool_refused";
    case OomReason::kNeither:
      return "neither";
    case OomReason::kLimit:
      return "limit";
    case OomReason::kUnstatedLimit:
      return "unstated_limit";
    case OomReason::kMpsLimit:
      return "mps_limit";
    case OomReason::kTooLarge:
      return "too_large";
    case OomReason::kAbsurd:
      return "absurd";
    case OomReason::kFreeBlockUnused:
      return "free_block_unused";
    case OomReason::kDriverRefused:
      return "driver_refused";
    case OomReason::kReserve:
      return "reserve";
    case OomReason::kStartRefused:
      return "start_refused";
    case OomReason::kHostMemory:
      return "host_memory";
    case OomReason::kNoFigures:
      return "no_figures";
    case OomReason::kOnlyRequested:
      return "only_asked";
    case OomReason::kProgramOnly:
      return "program_only";
    case OomReason::kFreeUnknown:
      return "free_untold";
    case OomReason::kCacheUnknown:
      return "cache_untold";
  }
  return "none";
}

std::string_view ToName(OomRuledOut ruled_out) {
  switch (ruled_out) {
    case OomRuledOut::kNothing:
      break;
    case OomRuledOut::kSmallDevice:
      return "small_device";
    case OomRuledOut::kFragmentation:
      return "fragmentation";
  }
  return "";
}

std::string_view VerdictName(const OomCase& found) {
  if (!found.failed) {
    return "none";
  }
  if (found.conclusion.reason == OomReason::kReserve) {
    return "limit";
  }
  switch (found.verdict.why) {
    case OomCause::kLimit:
      return "limit";
    case OomCause::kFragmentation:
      return "fragmentation";
    case OomCause::kFull:
      return "full";
    case OomCause::kTooLarge:
      return "too-large";
    case OomCause::kUnexplained:
      return "unexplained";
    case OomCause::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace memtool
