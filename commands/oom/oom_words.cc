#include "oom/oom_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "oom/oom_program_words.h"
#include "oom/oom_why.h"
#include "rows/rows.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kOthersNamed = 3;

std::string MomentText(const OomCase& found) {
  return !found.event       ? "the end"
         : *found.event < 0 ? "the start"
                            : "event " + FormatCount(*found.event);
}

// Of this process, outside the allocator.
std::string ContextText(const OomPlatform& platform) {
  if (platform.cuda) {
    return "CUDA context, libraries, NCCL";
  }
  return platform.kind +
         (platform.kind == "HIP" ? " context, libraries, RCCL" : " context, libraries");
}

std::string OutsideText(const OomPlatform& platform) {
  return platform.kind == "MPS" ? "other allocations on the device"
                                : ContextText(platform) + ", other processes";
}

std::string PartText(const OomCase& found, const OomRow& part) {
  const OomPlatform platform = GetPlatform(found);
  const bool divided = found.facts.cached || (found.message && found.message->outside);
  const std::array<std::pair<std::string_view, std::string>, 8> texts{{
      {"free", "free in the driver"},
      {"live", platform.framework + " live: blocks that the program holds"},
      {"private_pools", "free in private pools: only their graphs or MemPools can use it"},
      {"pending", platform.framework + " pending: given up, but a stream may still use it"},
      {"cached", platform.framework + " cached: free in its allocator"},
      {"non_framework",
       "this process outside " + platform.framework + ": " + ContextText(platform)},
      {"other", "everything else: other processes, the driver"},
      {"outside", (divided ? "outside " + platform.framework
                           : "cached by " + platform.framework + " or outside it") +
                      ": " + OutsideText(platform)},
  }};
  const auto* const known = std::find_if(
      texts.begin(), texts.end(), [&part](const auto& each) { return each.first == part.name; });
  std::string text = known == texts.end() ? part.name.str() : known->second;
  if (part.name == "cached" && found.state && found.state->pieces > 0) {
    text = fmt::format("PyTorch cached: free in {} piece{}, the largest {}",
                       FormatCount(found.state->pieces), PluralS(found.state->pieces),
                       FormatSize(found.state->largest_free));
    if (found.state->gives.fragmented > 0) {
      text += fmt::format("; {} of it fragmentation", FormatSize(found.state->gives.fragmented));
    }
  }
  if (part.contradicts) {
    text += " (the figures contradict each other)";
  }
  return text;
}

}  // namespace

std::string SizeOf(const std::optional<Quantity>& quantity) {
  return FormatSize(quantity ? quantity->bytes : 0);
}

std::string WhereText(const OomPlace& place) {
  std::string text;
  switch (place.kind) {
    case OomPlace::Kind::kUnknown:
      break;
    case OomPlace::Kind::kHost:
      text = "the host";
      break;
    case OomPlace::Kind::kDevice:
      text = fmt::format("{} {}", place.device, place.gpu.value_or(0));
      break;
    case OomPlace::Kind::kChip:
      text = place.device;
      break;
    case OomPlace::Kind::kTrace:
      text = place.trace;
      break;
    case OomPlace::Kind::kDevices:
      text = FormatCount(static_cast<std::int64_t>(place.devices)) + " devices";
      break;
  }
  if (place.rank) {
    text += fmt::format("{}rank {}", text.empty() ? "" : " of ", *place.rank);
  }
  return text;
}

std::string Headline(const OomCase& found) {
  const std::string place = WhereText(found.place);
  const std::string where = place.empty() ? "" : " on " + place;
  const OomFacts& facts = found.facts;
  if (found.unrecorded) {
    return fmt::format("NOTHING WAS RECORDED{}: {} reserved, {} live at the end", where,
                       FormatSize(found.state->reserved), FormatSize(found.state->live));
  }
  if (!found.failed) {
    if (found.ring_of_one && !found.elsewhere) {
      return fmt::format(
          "NOT KNOWN whether memory ran out{}, the ring held one event: {} reserved, {} live at {}",
          where, FormatSize(found.state->reserved), SizeOf(facts.live), MomentText(found));
    }
    return fmt::format(
        "NO OUT-OF-MEMORY EVENT {}{}: {}{} live at {}",
        found.elsewhere ? "at this moment" : "in this file", where,
        found.state ? FormatSize(found.state->reserved) + " reserved, " : std::string(),
        SizeOf(facts.live), MomentText(found));
  }
  const std::string_view whose = found.place.kind == OomPlace::Kind::kHost ? "it" : "driver";
  std::string text = "OUT OF MEMORY" + where;
  if (!facts.requested_bytes) {
    return text + (facts.free ? fmt::format(": {} had {} free", whose, SizeOf(facts.free)) : "");
  }
  text += ": asked for " + SizeOf(facts.requested_bytes);
  if (!facts.free) {
    return text;
  }
  if (IsPool(found)) {
    return text + fmt::format(", {} had {} free", PoolText(found), CachedText(found));
  }
  text += fmt::format(", {} had {} free", whose, SizeOf(facts.free));
  const std::int64_t lacking = found.verdict.short_of_driver;
  if (lacking > 0) {
    const bool segment =
        facts.segment_size && facts.segment_size->bytes != facts.requested_bytes->bytes;
    text += segment ? fmt::format(" ({} short of the segment of {} that this takes)",
                                  FormatSize(lacking), SizeOf(facts.segment_size))
                    : fmt::format(" ({} short)", FormatSize(lacking));
  }
  return text;
}

std::string Headline(const OomAnswer& answer) {
  if (answer.found) {
    return Headline(*answer.found);
  }
  return fmt::format("NO OUT-OF-MEMORY MESSAGE in {} ({}, {})",
                     answer.head.inputs.empty() ? "the log" : answer.head.inputs.front().path,
                     Counted(answer.log_lines, "line"), FormatSize(answer.log_bytes));
}

// "vLLM says: weights 13.00 GiB (line 117), KV cache 4.00 GiB (line 134); of 23.52 GiB"
std::string LedgerText(const OomAnswer& answer) {
  const Ledger& ledger = *answer.ledger;
  std::string text = ledger.producer + " says: ";
  for (const LedgerPart& part : ledger.parts) {
    text += fmt::format("{}{} {} (line {})", &part == ledger.parts.data() ? "" : ", ", part.title,
                        FormatSize(part.bytes), FormatCount(static_cast<std::int64_t>(part.line)));
  }
  if (ledger.total) {
    text += fmt::format("; the device has {}", FormatSize(ledger.total->bytes));
  }
  if (ledger.requested) {
    text += fmt::format("; it may take {}", FormatSize(ledger.requested->bytes));
  }
  if (!answer.found) {
    text += fmt::format("; then the log ends, at line {}", FormatCount(answer.log_lines));
  }
  return text;
}

namespace {

// What requests show of how much there was: so much was live at once, and more than that failed.
std::string RoomText(const OomCase& found) {
  if (found.state || !found.peak || !found.facts.requested_bytes || !found.facts.live) {
    return {};
  }
  const std::int64_t wanted =
      SaturatingAdd(found.facts.live->bytes, found.facts.requested_bytes->bytes);
  const std::string text = fmt::format(
      "with it, {} would have been live; the most at once was {}, at event {}, ",
      FormatSize(wanted), FormatSize(found.peak->bytes), FormatCount(found.peak->event));
  const bool later = found.event && found.peak->event > *found.event;
  if (found.peak->bytes < wanted) {
    return text + "so that the room ends between the two";
  }
  return text + (later
                     ? "after it: there was room again, or pieces that fit"
                     : "before it: there was room then, so that fragmentation or memory of others "
                       "may be why");
}

}  // namespace

std::vector<OomSentence> Reasons(const OomCase& found) {
  std::vector<OomSentence> sentences;
  if (found.failed) {
    sentences.push_back(
        {"WHY",
         Why(found) +
             (SaysClose(found) ? " (close: rounding of the figures could change this)" : "")});
    if (auto ruled_out = Not(found)) {
      sentences.push_back({"NOT", *std::move(ruled_out)});
    }
    AddKnown(found, sentences);
    if (const std::string text = RoomText(found); !text.empty()) {
      sentences.push_back({"KNOWN", text});
    }
    return sentences;
  }
  if (!found.state || !found.facts.cached) {
    return sentences;
  }
  const OomState& state = *found.state;
  const std::string where =
      state.pieces == 0 && state.free > 0
          ? std::string("in no block that the file lists")
          : fmt::format("in {} piece{}, the largest {}", FormatCount(state.pieces),
                        PluralS(state.pieces), FormatSize(state.largest_free));
  sentences.push_back(
      {"KNOWN", fmt::format("{} of what is reserved is free ({:.2f}%), {}", FormatSize(state.free),
                            100 * found.conclusion.free_share, where)});
  return sentences;
}

std::string RowText(const OomAnswer& answer, const OomRow& row) {
  switch (row.kind) {
    case OomRow::Kind::kBuffers:
    case OomRow::Kind::kRest:
      return BuffersText(*answer.found, row);
    case OomRow::Kind::kPart:
      return answer.found->breakdown->kind == BreakdownTotal::kProgram
                 ? ProgramPartText(row.name)
                 : PartText(*answer.found, row);
    case OomRow::Kind::kUnlisted:
      return "  held by (no block: the file claims more for its segments than its blocks have)";
    case OomRow::Kind::kRounding:
      return "  held by (rounding: blocks are larger than what was asked for)";
    case OomRow::Kind::kOthers:
      return fmt::format("  held by {} others (-n 0 shows all)",
                         FormatCount(static_cast<std::int64_t>(row.count)));
    case OomRow::Kind::kHolder:
      break;
  }
  const bool frames = answer.by.kind == By::Kind::kFrame;
  const std::string place = PlaceText(row.file, row.line);
  return "  held by " + (frames ? NameText(row.name) : row.name.str()) +
         (place.empty() ? "" : "  " + place) + (row.via.empty() ? "" : "  via " + ViaText(row.via));
}

namespace {

// More is live than the device has, and the allocator's own figures agree with each other.
bool IsSpilled(const OomFacts& facts) {
  return facts.live && facts.capacity && facts.cached && facts.cached->bytes >= 0 &&
         SaturatingSubtract(facts.live->bytes, facts.live->precision) >
             SaturatingAdd(facts.capacity->bytes, facts.capacity->precision);
}

}  // namespace

std::vector<std::string> Doubts(const OomCase& found) {
  std::vector<std::string> doubts;
  if (const auto damaged = DamagedRows(found); damaged > 0) {
    doubts.push_back(Counted(damaged, "row") + " of the message's table could not be read");
  }
  if (found.impossible_free) {
    doubts.push_back(
        fmt::format("the message says {} free of a device that has {}: not used (a GPU that shares "
                    "the host's memory counts that as its own)",
                    SizeOf(found.impossible_free), SizeOf(found.facts.capacity)));
  }
  if (!found.breakdown) {
    return doubts;
  }
  if (IsSpilled(found.facts)) {
    doubts.push_back(
        fmt::format("{} is live on a device that has {}: the driver keeps what does not fit in the "
                    "host's memory, as on Windows, where each use of it is slow",
                    SizeOf(found.facts.live), SizeOf(found.facts.capacity)));
  } else if (!found.breakdown->adds_up) {
    doubts.emplace_back("the figures contradict each other by more than their rounding");
  }
  if (found.processes_contradict) {
    doubts.emplace_back("the processes that the message names hold more than the device has");
  }
  if (found.breakdown->process_unusable) {
    doubts.push_back(
        fmt::format("the driver's figure for this process, {}, is smaller than what PyTorch "
                    "holds: not used",
                    SizeOf(found.facts.process)));
  }
  return doubts;
}

std::string OrderText(const OomOrder& order) {
  if (order.nanos == 0) {
    return fmt::format("rank {} and rank {} at the same time", order.first, order.next);
  }
  return fmt::format("rank {} first, {} before rank {}", order.first, TimeSpanText(order.nanos),
                     order.next);
}

std::string OtherMessagesText(const OomAnswer& answer) {
  std::string text = answer.order ? OrderText(*answer.order) + " · " : std::string();
  text += Counted(answer.other_count, answer.message > 0 ? "more message" : "message") +
          " in this log, shown by --message K:";
  std::int64_t named = 0;
  for (const OomOther& other :
       std::span(answer.others).first(std::min(kOthersNamed, answer.others.size()))) {
    const std::string where = WhereText(other.place);
    text += fmt::format(
        "{} {} (line {}{}{})", named > 0 ? " ·" : "", FormatCount(other.message),
        FormatCount(static_cast<std::int64_t>(other.line)), where.empty() ? "" : ", " + where,
        other.requested_bytes ? ", asked for " + FormatSize(*other.requested_bytes) : "");
    ++named;
  }
  return text + (answer.other_count > named ? " · …" : "");
}

std::string KilledText(const OomAnswer& answer) {
  return fmt::format(
      "line {} says that a process {}, as the kernel does when the host's memory runs out; dmesg "
      "or the job's scheduler says whether that was why",
      FormatCount(answer.killed), kWasKilled);
}

std::string RetriesText(const OomAnswer& answer) {
  const bool one = answer.retries == 1;
  std::string text =
      fmt::format("{} allocation{} failed at first and {} tried again", FormatCount(answer.retries),
                  PluralS(answer.retries), one ? "was" : "were");
  if (!answer.last_retry) {
    return text;
  }
  const OomMessage& last = *answer.last_retry;
  text += fmt::format("; {} (line {})", one ? "it" : "the last",
                      FormatCount(static_cast<std::int64_t>(last.line)));
  const std::string asked = last.requested_bytes
                                ? " asked for " + FormatSize(last.requested_bytes->bytes)
                                : " does not say how much it asked for";
  text.append(asked);
  return last.free ? text + fmt::format(", the driver had {} free", FormatSize(last.free->bytes))
                   : text;
}

std::string OtherEventsText(const OomAnswer& answer) {
  std::string text = "out of memory elsewhere in this file, shown by --device and --at oom:K:";
  std::int64_t named = 0;
  for (const OomOther& other :
       std::span(answer.others).first(std::min(kOthersNamed, answer.others.size()))) {
    text += fmt::format("{} {} at event {} (asked for {})", named > 0 ? "," : "",
                        WhereText(other.place), FormatCount(other.event),
                        FormatSize(other.requested_bytes.value_or(0)));
    ++named;
  }
  return answer.other_count > named
             ? text + fmt::format(" and {} more", FormatCount(answer.other_count - named))
             : text;
}

}  // namespace memtool::commands
