// What `memtool oom` found, in sentences.
#include <fmt/format.h>

#include <algorithm>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "oom/oom_case.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

using formats::OomWording;

// Below this share of live data a card is large enough for it.
constexpr double kMuchRoom = 0.75;

std::int64_t BytesOf(const std::optional<Quantity>& quantity) {
  return quantity ? quantity->bytes : 0;
}

double Share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

std::string SizeOf(const std::optional<Quantity>& quantity) {
  return FormatSize(BytesOf(quantity));
}

std::string FreeAndCached(const OomCase& found) {
  const OomVerdict& verdict = found.verdict;
  if (IsPool(found)) {
    return "free in XLA's pool is " + FormatSize(verdict.in_all);
  }
  if (!found.state) {
    return "free + cached is " + FormatSize(verdict.in_all);
  }
  return fmt::format("{} free in the driver + {} in {} free block{} is {}",
                     SizeOf(found.facts.free), FormatSize(found.state->usable_free),
                     FormatCount(found.state->usable_pieces),
                     found.state->usable_pieces == 1 ? "" : "s", FormatSize(verdict.in_all));
}

std::string Fragmentation(const OomCase& found) {
  constexpr double kCountless = 1000;  // so often that the number says nothing
  const double times =
      Share(found.verdict.in_all, std::max<std::int64_t>(BytesOf(found.facts.asked), 1));
  std::string text =
      fmt::format("fragmentation: {}, {} the request", FreeAndCached(found),
                  times < kCountless ? fmt::format("{:.1f}x", times) : std::string("over 1,000x"));
  return text + (found.state ? fmt::format(", but the largest block is {}: in one piece it "
                                           "would fit",
                                           FormatSize(found.state->usable_largest))
                             : ", but no piece fits");
}

std::string Full(const OomCase& found) {
  const std::string where = IsPool(found)          ? "XLA's pool is full"
                            : found.facts.capacity ? "the device is full"
                                                   : "full";
  return fmt::format("{}: {}, {} less than asked, even in one piece", where, FreeAndCached(found),
                     FormatSize(found.verdict.short_in_all));
}

std::string Limit(const OomCase& found) {
  const OomFacts& facts = found.facts;
  if (!facts.limit) {
    return fmt::format("limit: MPS may take {}; PyTorch holds {} of it, other allocations {}",
                       SizeOf(facts.capacity), SizeOf(facts.live),
                       FormatSize(found.message->outside->bytes));
  }
  const std::int64_t held = SaturatingAdd(
      SaturatingAdd(BytesOf(facts.live), BytesOf(facts.pending)), BytesOf(facts.cached));
  return fmt::format(
      "limit: PyTorch may take {}, holds {} and asked {} more; the device had {} free",
      SizeOf(facts.limit), FormatSize(held), SizeOf(facts.asked), SizeOf(facts.free));
}

std::string TooLarge(const OomCase& found) {
  const OomFacts& facts = found.facts;
  if (!facts.asked) {
    return "too large: more than 1 EiB was asked, and no device has that: a size in the program "
           "went "
           "wrong";
  }
  const bool program = found.message && found.message->wording == OomWording::kXlaHbm;
  return fmt::format(
      "too large: the {} of {} {} {} more than {} has ({})", program ? "program" : "request",
      SizeOf(facts.asked), program ? "needs" : "is", FormatSize(found.verdict.short_in_all),
      program ? found.message->kind : std::string("the device"), SizeOf(facts.capacity));
}

std::string Unexplained(const OomCase& found) {
  if (found.state && found.facts.asked && found.state->usable_largest >= found.facts.asked->bytes) {
    return fmt::format("unexplained: a free block of {} was there for the {} asked",
                       FormatSize(found.state->usable_largest), SizeOf(found.facts.asked));
  }
  return fmt::format(
      "unexplained: the driver said {} free, more than the {} asked; the figures do not tell "
      "why it refused",
      SizeOf(found.facts.free),
      SizeOf(found.facts.wanted ? found.facts.wanted : found.facts.asked));
}

std::string Unknown(const OomCase& found) {
  const OomFacts& facts = found.facts;
  if (found.message && found.message->wording == OomWording::kHost) {
    return "the host's memory ran out, not a device's";
  }
  if (!facts.asked) {
    return "unknown: the message gives no figures";
  }
  if (!facts.free) {
    return fmt::format("unknown: of the {} asked this message says no more", SizeOf(facts.asked));
  }
  return fmt::format("unknown: the driver was {} short; what the allocator had free is not told",
                     FormatSize(found.verdict.short_of_driver));
}

std::string Why(const OomCase& found) {
  std::string text;
  switch (found.verdict.why) {
    case OomWhy::kFragmentation:
      text = Fragmentation(found);
      break;
    case OomWhy::kFull:
      text = Full(found);
      break;
    case OomWhy::kLimit:
      text = Limit(found);
      break;
    case OomWhy::kTooLarge:
      return TooLarge(found);
    case OomWhy::kUnexplained:
      text = Unexplained(found);
      break;
    case OomWhy::kUnknown:
      return Unknown(found);
  }
  return found.verdict.close ? text + " (close: rounding of the figures could turn this)" : text;
}

// What the verdict rules out.
std::optional<std::string> Not(const OomCase& found) {
  const OomFacts& facts = found.facts;
  const std::int64_t held = SaturatingAdd(BytesOf(LiveOf(found)), BytesOf(facts.pending));
  if (found.verdict.why == OomWhy::kFragmentation && found.ladder) {
    const double share = Share(held, found.ladder->whole.bytes);
    if (found.ladder->kind == OomWhole::kCapacity && share <= kMuchRoom) {
      return fmt::format("a small card: live data fills {:.0f}% of it", 100 * share);
    }
    return std::nullopt;
  }
  if (found.verdict.why == OomWhy::kFull) {
    if (!found.state) {
      return fmt::format("fragmentation: with the {} {} in one piece it would not fit",
                         SizeOf(facts.cached), IsPool(found) ? "free" : "cached");
    }
    if (found.state->usable_free == 0) {
      return "fragmentation: nothing of what is cached is of its pool and stream";
    }
    return fmt::format(
        "fragmentation: even in one piece, the {} cached for its pool and stream would not do",
        FormatSize(found.state->usable_free));
  }
  return std::nullopt;
}

}  // namespace

std::string Headline(const OomCase& found) {
  const std::string where = found.where.empty() ? "" : " on " + found.where;
  const OomFacts& facts = found.facts;
  if (!found.failed) {
    return fmt::format("NO OUT-OF-MEMORY EVENT {}{}: {} reserved, {} live at {}",
                       found.elsewhere ? "at this moment" : "in this file", where,
                       FormatSize(found.state->reserved), FormatSize(found.state->live),
                       found.moment);
  }
  std::string text = "OUT OF MEMORY" + where;
  if (!facts.asked) {
    return text + (facts.free ? fmt::format(": driver had {} free", SizeOf(facts.free)) : "");
  }
  text += ": asked " + SizeOf(facts.asked);
  if (!facts.free) {
    return text;
  }
  if (IsPool(found)) {
    return text + fmt::format(", XLA's pool had {} free", SizeOf(facts.cached));
  }
  text += fmt::format(", driver had {} free", SizeOf(facts.free));
  const std::int64_t lacking = found.verdict.short_of_driver;
  if (lacking > 0) {
    const bool segment = facts.wanted && facts.wanted->bytes != facts.asked->bytes;
    text += segment ? fmt::format(" ({} short of the segment of {} that this takes)",
                                  FormatSize(lacking), SizeOf(facts.wanted))
                    : fmt::format(" ({} short)", FormatSize(lacking));
  }
  return text;
}

std::vector<OomSentence> Reasons(const OomCase& found) {
  std::vector<OomSentence> sentences;
  if (found.failed) {
    sentences.push_back({"WHY", Why(found)});
    if (auto ruled_out = Not(found)) {
      sentences.push_back({"NOT", *std::move(ruled_out)});
    }
    return sentences;
  }
  const OomState& state = *found.state;
  const std::string where =
      state.pieces == 0 && state.free > 0
          ? std::string("in no block that the file lists")
          : fmt::format("in {} piece{}, the largest {}", FormatCount(state.pieces),
                        state.pieces == 1 ? "" : "s", FormatSize(state.largest_free));
  sentences.push_back(
      {"KNOWN", fmt::format("{} of what is reserved is free ({:.2f}%), {}", FormatSize(state.free),
                            100 * Share(state.free, state.reserved), where)});
  return sentences;
}

}  // namespace memtool::commands
