#include "answers/oom/oom_conclude.h"

#include <algorithm>
#include <array>
#include <utility>

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

OomReason FullReason(const OomCase& found) {
  if (found.message && IsOfPool(*found.message) && found.facts.limit) {
    return OomReason::kPoolRefused;
  }
  if (!found.facts.requested_bytes) {
    return OomReason::kNothingFree;
  }
  if (found.verdict.last_page) {
    return OomReason::kLastPage;
  }
  return found.verdict.short_in_all > 0      ? OomReason::kFull
         : MostlyElsewhere(found) != nullptr ? OomReason::kHeldElsewhere
                                             : OomReason::kNeither;
}

OomReason TooLargeReason(const OomFacts& facts) {
  const bool known = facts.requested_bytes && (facts.capacity || facts.limit);
  return known ? OomReason::kTooLarge : OomReason::kAbsurd;
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
  if (found.verdict.by_wording) {
    return OomReason::kOfWording;
  }
  if (found.room && found.verdict.why == OomCause::kFull) {
    return OomReason::kNoRoom;
  }
  switch (found.verdict.why) {
    case OomCause::kFragmentation:
      return OomReason::kFragmentation;
    case OomCause::kFull:
      return FullReason(found);
    case OomCause::kLimit:
      return facts.limit      ? OomReason::kLimit
             : found.snapshot ? OomReason::kUnstatedLimit
                              : OomReason::kMpsLimit;
    case OomCause::kTooLarge:
      return TooLargeReason(facts);
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
  using Reason = OomReason;
  static constexpr auto kNames = std::to_array<std::pair<Reason, std::string_view>>({
      {Reason::kNone, "none"},
      {Reason::kFragmentation, "fragmentation"},
      {Reason::kFull, "full"},
      {Reason::kPoolRefused, "pool_refused"},
      {Reason::kNeither, "neither"},
      {Reason::kNothingFree, "nothing_free"},
      {Reason::kHeldElsewhere, "held_elsewhere"},
      {Reason::kLastPage, "last_page"},
      {Reason::kLimit, "limit"},
      {Reason::kUnstatedLimit, "unstated_limit"},
      {Reason::kMpsLimit, "mps_limit"},
      {Reason::kTooLarge, "too_large"},
      {Reason::kAbsurd, "absurd"},
      {Reason::kFreeBlockUnused, "free_block_unused"},
      {Reason::kDriverRefused, "driver_refused"},
      {Reason::kReserve, "reserve"},
      {Reason::kStartRefused, "start_refused"},
      {Reason::kOfWording, "of_wording"},
      {Reason::kNoRoom, "no_room"},
      {Reason::kHostMemory, "host_memory"},
      {Reason::kNoFigures, "no_figures"},
      {Reason::kOnlyRequested, "only_asked"},
      {Reason::kProgramOnly, "program_only"},
      {Reason::kFreeUnknown, "free_untold"},
      {Reason::kCacheUnknown, "cache_untold"},
  });
  return NameIn(kNames, reason);
}

std::string_view ToName(OomRuledOut ruled_out) {
  static constexpr std::array<std::pair<OomRuledOut, std::string_view>, 2> kNames{{
      {OomRuledOut::kSmallDevice, "small_device"},
      {OomRuledOut::kFragmentation, "fragmentation"},
  }};
  return NameIn(kNames, ruled_out);
}

std::string_view VerdictName(const OomCase& found) {
  if (!found.failed) {
    return "none";
  }
  return ToName(found.conclusion.reason == OomReason::kReserve ? OomCause::kLimit
                                                               : found.verdict.why);
}

}  // namespace memtool
