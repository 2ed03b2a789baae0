#include "oom/oom_why.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "oom/oom_program_words.h"
#include "oom/oom_words.h"
#include "words/words.h"

namespace memtool::commands {

// The pool that XLA hands out memory from.
std::string PoolText(const OomCase& found) {
  return found.message->wording == OomWording::kXlaTpu ? "the TPU's memory"
                                                       : GetPlatform(found).framework + "'s pool";
}

// Of messages: what contradicts itself is no size.
std::string CachedText(const OomCase& found) {
  const std::optional<Quantity>& cached = found.facts.cached;
  return cached && cached->bytes < 0 ? FormatSize(0) : SizeOf(cached);
}

namespace {

std::string FreeAndCached(const OomCase& found) {
  const OomVerdict& verdict = found.verdict;
  if (IsPool(found)) {
    return "free in " + PoolText(found) + " is " + FormatSize(verdict.in_all);
  }
  if (!found.state) {
    return "free + cached is " + FormatSize(verdict.in_all);
  }
  return fmt::format("{} free in the driver + {} in {} free block{} is {}",
                     SizeOf(found.facts.free), FormatSize(found.state->usable_free),
                     FormatCount(found.state->usable_pieces), PluralS(found.state->usable_pieces),
                     FormatSize(verdict.in_all));
}

std::string Fragmentation(const OomCase& found) {
  constexpr double kCountless = 1000;  // so large that the number says nothing
  const double times = found.conclusion.requests;
  std::string text =
      fmt::format("fragmentation: {}, {} the request", FreeAndCached(found),
                  times < kCountless ? fmt::format("{:.1f}x", times) : std::string("over 1,000x"));
  return text + (found.state ? fmt::format(", but the largest block is {}: in one piece it "
                                           "would fit",
                                           FormatSize(found.state->usable_largest))
                 : found.message && found.message->largest
                     ? ", but the largest piece is " + FormatSize(found.message->largest->bytes)
                     : ", but no piece fits");
}

constexpr std::string_view kInPrivatePools =
    "free in private pools, which only their CUDA graphs or MemPools (a sleep mode's, too) can use";

// "60.00 GiB of it is outside PyTorch; ", where that is most of the device.
std::string Holder(const OomCase& found) {
  const OomPart* const part = MostlyElsewhere(found);
  if (part == nullptr) {
    return {};
  }
  const std::string framework = GetPlatform(found).framework;
  return fmt::format("{} of it is {}; ", FormatSize(part->bytes),
                     part->key == "non_framework"   ? "this process outside " + framework
                     : part->key == "outside"       ? "outside " + framework
                     : part->key == "private_pools" ? std::string(kInPrivatePools)
                                                    : "other processes' or the driver's");
}

std::string FullText(const OomCase& found) {
  return IsPool(found)          ? PoolText(found) + " is full"
         : found.facts.capacity ? "the device is full"
                                : "full";
}

std::string Full(const OomCase& found) {
  const std::string where = FullText(found);
  if (found.verdict.at_most) {
    return fmt::format("{}: {} of {} is live, and the {} besides is {} less than asked for", where,
                       SizeOf(found.facts.live), SizeOf(found.facts.capacity),
                       FormatSize(found.verdict.in_all), FormatSize(found.verdict.short_in_all));
  }
  return fmt::format("{}: {}{}, {} less than asked for, even in one piece", where, Holder(found),
                     FreeAndCached(found), FormatSize(found.verdict.short_in_all));
}

std::string HeldElsewhere(const OomCase& found) {
  return fmt::format("{}: {}of the {} free and cached, no piece fits", FullText(found),
                     Holder(found), FormatSize(found.verdict.in_all));
}

std::string PoolRefused(const OomCase& found) {
  return fmt::format(
      "full: the device, not {}, which may take {}, has {}{}, and was refused {} more by the "
      "driver",
      PoolText(found), SizeOf(found.facts.limit), found.facts.cached ? "" : "at least ",
      FormatSize(found.conclusion.held), SizeOf(found.facts.requested_bytes));
}

std::string Limit(const OomCase& found) {
  const OomFacts& facts = found.facts;
  return fmt::format("limit: {} may take {}, holds {} and asked for {} more",
                     GetPlatform(found).framework, SizeOf(facts.limit),
                     FormatSize(found.conclusion.held), SizeOf(facts.requested_bytes)) +
         (facts.free ? fmt::format("; the device had {} free", SizeOf(facts.free)) : "");
}

std::string UnstatedLimit(const OomCase& found) {
  const OomFacts& facts = found.facts;
  return fmt::format(
      "limit: PyTorch holds {} and was refused {} more while the driver had {} free: a limit of "
      "the "
      "process itself lies between (set_per_process_memory_fraction)",
      FormatSize(found.conclusion.held), SizeOf(facts.requested_bytes), SizeOf(facts.free));
}

std::string MpsLimit(const OomCase& found) {
  const OomFacts& facts = found.facts;
  const auto& outside = found.message->outside;
  return fmt::format("limit: MPS may take {}; PyTorch holds {} of it, other allocations {}",
                     SizeOf(facts.capacity), SizeOf(facts.live),
                     FormatSize(outside ? outside->bytes : 0));
}

std::string TooLarge(const OomCase& found) {
  const OomFacts& facts = found.facts;
  const auto says = [&found](OomWording wording) {
    return found.message && found.message->wording == wording;
  };
  const bool program = says(OomWording::kXlaHbm);
  const bool part = says(OomWording::kXlaScoped);
  return fmt::format("too large: the {} of {} {} {} more than {} ({})",
                     program ? "program"
                     : part  ? "program's allocation"
                             : "request",
                     SizeOf(facts.requested_bytes), program ? "needs" : "is",
                     FormatSize(found.verdict.short_in_all),
                     program || part                  ? found.message->kind + " has"
                     : !facts.capacity && facts.limit ? std::string("one buffer may have")
                     : IsPool(found)                  ? PoolText(found) + " may take"
                                                      : std::string("the device has"),
                     SizeOf(facts.capacity ? facts.capacity : facts.limit));
}

std::string DriverRefused(const OomCase& found) {
  const auto& pools = found.facts.private_pools;
  const auto& asked = found.facts.requested_bytes;
  const bool kept = pools && asked && pools->bytes >= asked->bytes;
  return fmt::format(
      "unexplained: the driver said {} free, more than the {} asked for; the figures do not say "
      "why it refused{}",
      SizeOf(found.facts.free),
      SizeOf(found.facts.segment_size ? found.facts.segment_size : found.facts.requested_bytes),
      kept ? fmt::format("; {} is {}", SizeOf(pools), kInPrivatePools) : std::string());
}

// What a message says besides the requested size: "5.00 GiB live, 8.00 GiB of capacity".
std::string ReportedText(const OomCase& found) {
  const OomFacts& facts = found.facts;
  const std::array<std::pair<const std::optional<Quantity>*, std::string_view>, 6> reported{{
      {&facts.free, "free"},
      {&facts.live, "live"},
      {&facts.cached, "cached"},
      {&facts.limit, "of limit"},
      {&facts.capacity, "of capacity"},
      {&facts.process, "held by this process"},
  }};
  std::string text;
  for (const auto& [quantity, what] : reported) {
    if (*quantity) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", SizeOf(*quantity), what);
    }
  }
  return text;
}

std::string Reserve(const OomCase& found) {
  const OomFacts& facts = found.facts;
  return fmt::format(
      "limit: one allocation of {} is larger than an expandable segment may become "
      "(expandable_segments_reserve); the device had {} free",
      SizeOf(facts.requested_bytes), SizeOf(facts.free));
}

std::string StartRefused(const OomCase& found) {
  const OomFacts& facts = found.facts;
  if (facts.limit) {
    return fmt::format(
        "limit: vLLM did not start: its KV cache needs {}, {} more than the {} left for it",
        SizeOf(facts.requested_bytes), FormatSize(found.verdict.short_in_all), SizeOf(facts.limit));
  }
  return fmt::format("full: vLLM did not start: it was to take {} and found {} free, {} less",
                     SizeOf(facts.requested_bytes), SizeOf(facts.free),
                     FormatSize(found.verdict.short_in_all));
}

std::string NoRoom(const OomCase& found) {
  const OomRoom& room = *found.room;
  const std::string left = room.left() > 0 ? "the " + FormatSize(room.left()) + " left is "
                                           : "with what was asked for, that is ";
  return fmt::format("full: of the {} that line {} says was free, {} had taken {}; {}{} {}",
                     FormatSize(room.free), FormatCount(static_cast<std::int64_t>(room.line)),
                     room.producer, FormatSize(room.taken), left,
                     FormatSize(found.verdict.short_in_all),
                     room.left() > 0 ? "less than asked for" : "too much");
}

std::string ByWording(const OomCase& found) {
  std::string cause(ToName(found.verdict.why));
  std::replace(cause.begin(), cause.end(), '-', ' ');
  return cause + ": " + found.message->why;
}

// Of a log or of requests alone.
std::string FreeUnknown(const OomCase& found) {
  return fmt::format(
      "unknown: {} was asked for, but {}; {} {}", SizeOf(found.facts.requested_bytes),
      found.impossible_free ? "the message says that more was free than the device has"
      : found.snapshot      ? "requests do not say what was free"
                            : "the message does not say what was free",
      found.snapshot ? "they give" : "it gives", ReportedText(found));
}

std::string CacheUnknown(const OomCase& found) {
  const std::string lacking = FormatSize(found.verdict.short_of_driver);
  return found.snapshot ? "the driver had too little: it was " + lacking + " short of the request"
                        : "unknown: the driver was " + lacking +
                              " short; the message does not say what the allocator had free";
}

std::string Absurd(const OomCase& found) {
  return fmt::format(
      "too large: {} was asked for, and no {} has that: a size in the program went wrong, or grows "
      "with the square of a length",
      found.facts.requested_bytes ? SizeOf(found.facts.requested_bytes) : "more than 1 EiB",
      found.place.kind == OomPlace::Kind::kHost ? "host" : "device");
}

std::string LastPage(const OomCase& found) {
  const OomFacts& facts = found.facts;
  return fmt::format(
      "{}: {}the driver gives whole pages of 2 MiB and keeps the last one: {} could not be had of "
      "the {} that it had free",
      FullText(found), Holder(found),
      SizeOf(facts.segment_size ? facts.segment_size : facts.requested_bytes), SizeOf(facts.free));
}

std::string Neither(const OomCase& found) {
  return fmt::format(
      "no one piece of {}: {} free in the driver and {} cached are enough only together",
      SizeOf(found.facts.requested_bytes), SizeOf(found.facts.free),
      found.state ? FormatSize(found.state->usable_free) : CachedText(found));
}

std::string FreeBlockUnused(const OomCase& found) {
  return fmt::format("unexplained: a free block of {} was there for a request of {}",
                     FormatSize(found.state->usable_largest), SizeOf(found.facts.requested_bytes));
}

std::string NoFigures(const OomCase& found) {
  const std::string reported = ReportedText(found);
  return reported.empty()
             ? "unknown: the message gives no figures"
             : "unknown: the message does not say what was asked for; it gives " + reported;
}

}  // namespace

std::string Why(const OomCase& found) {
  switch (found.conclusion.reason) {
    case OomReason::kFragmentation:
      return Fragmentation(found);
    case OomReason::kFull:
      return Full(found);
    case OomReason::kPoolRefused:
      return PoolRefused(found);
    case OomReason::kLimit:
      return Limit(found);
    case OomReason::kUnstatedLimit:
      return UnstatedLimit(found);
    case OomReason::kMpsLimit:
      return MpsLimit(found);
    case OomReason::kTooLarge:
      return TooLarge(found);
    case OomReason::kAbsurd:
      return Absurd(found);
    case OomReason::kFreeBlockUnused:
      return FreeBlockUnused(found);
    case OomReason::kDriverRefused:
      return DriverRefused(found);
    case OomReason::kReserve:
      return Reserve(found);
    case OomReason::kStartRefused:
      return StartRefused(found);
    case OomReason::kNoRoom:
      return NoRoom(found);
    case OomReason::kOfWording:
      return ByWording(found);
    case OomReason::kHostMemory:
      return "the host's memory ran out, not a device's";
    case OomReason::kNeither:
      return Neither(found);
    case OomReason::kHeldElsewhere:
      return HeldElsewhere(found);
    case OomReason::kLastPage:
      return LastPage(found);
    case OomReason::kNothingFree:
      return fmt::format("full: {} was free; what was asked for, the message does not say",
                         SizeOf(found.facts.free));
    case OomReason::kFreeUnknown:
      return FreeUnknown(found);
    case OomReason::kOnlyRequested:
      return fmt::format("unknown: {} was asked for, and the message says no more",
                         SizeOf(found.facts.requested_bytes));
    case OomReason::kCacheUnknown:
      return CacheUnknown(found);
    case OomReason::kProgramOnly:
      return ProgramOnly(found);
    case OomReason::kNoFigures:
    case OomReason::kNone:
      break;
  }
  return NoFigures(found);
}

// Whether rounding could change the verdict. It cannot change that more was requested than there is
// at all.
bool SaysClose(const OomCase& found) {
  return found.judged() && found.verdict.close && found.verdict.why != OomCause::kTooLarge;
}

// What the verdict rules out.
std::optional<std::string> Not(const OomCase& found) {
  switch (found.conclusion.ruled_out) {
    case OomRuledOut::kNothing:
      return std::nullopt;
    case OomRuledOut::kSmallDevice:
      return fmt::format("a small card: live data fills {:.0f}% of it",
                         100 * found.conclusion.live_share);
    case OomRuledOut::kFragmentation:
      break;
  }
  if (found.verdict.at_most) {
    return "fragmentation alone: even in one piece, all that is not live would not do";
  }
  if (!found.state) {
    return fmt::format("fragmentation alone: even with the {} {} in one piece it would not fit",
                       CachedText(found), IsPool(found) ? "free" : "cached");
  }
  if (found.state->usable_free == 0) {
    return "fragmentation: none of what is cached is in its pool and stream";
  }
  return fmt::format(
      "fragmentation alone: even in one piece, the {} cached for its pool and stream would not do",
      FormatSize(found.state->usable_free));
}

}  // namespace memtool::commands
