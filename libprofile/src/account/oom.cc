#include "memtool/profile/account/oom.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

constexpr std::array<std::pair<OomCause, std::string_view>, 6> kCauses{{
    {OomCause::kUnknown, "unknown"},
    {OomCause::kLimit, "limit"},
    {OomCause::kFragmentation, "fragmentation"},
    {OomCause::kFull, "full"},
    {OomCause::kTooLarge, "too-large"},
    {OomCause::kUnexplained, "unexplained"},
}};

constexpr std::int64_t kMiB = std::int64_t{1} << 20U;
constexpr std::int64_t kMinLarge = 10 * kMiB;  // below this, a segment of kLargeBuffer is shared
constexpr std::int64_t kRoundLarge = 2 * kMiB;

std::int64_t GetBytes(const std::optional<Quantity>& quantity) {
  return quantity ? quantity->bytes : 0;
}
std::int64_t GetPrecision(const std::optional<Quantity>& quantity) {
  return quantity ? quantity->precision : 0;
}

// Takes parts off a whole, and keeps what is left for the next.
class Dividing {
 public:
  Dividing(MemoryBreakdown& breakdown, const Quantity& whole)
      : ladder_(breakdown), left_(whole.bytes), precision_(whole.precision) {
    ladder_.whole = whole;
  }
  void Take(std::string key, const Quantity& part) {
    AddTo(left_, SaturatingSubtract(0, part.bytes), ladder_.saturated);
    precision_ = SaturatingAdd(precision_, part.precision);
    Put({std::move(key), part.bytes, part.precision});
  }
  // What is left, all of it.
  void Rest(std::string key) { Put({std::move(key), left_, precision_}); }

 private:
  void Put(OomPart part) {
    ladder_.adds_up = ladder_.adds_up && !part.contradicts();
    ladder_.parts.push_back(std::move(part));
  }
  MemoryBreakdown& ladder_;
  std::int64_t left_;
  std::int64_t precision_;
};

// What the framework's allocator holds, in its parts.
std::vector<std::pair<std::string, Quantity>> Held(const OomFacts& facts) {
  std::vector<std::pair<std::string, Quantity>> parts;
  const auto add = [&parts](const char* key, const std::optional<Quantity>& part) {
    if (part) {
      parts.emplace_back(key, *part);
    }
  };
  if (facts.live && facts.private_pools) {
    parts.emplace_back(
        "live", Quantity{.bytes = SaturatingSubtract(facts.live->bytes, facts.private_pools->bytes),
                         .precision =
                             SaturatingAdd(facts.live->precision, facts.private_pools->precision)});
    parts.emplace_back("private_pools", *facts.private_pools);
  } else {
    add("live", facts.live);
  }
  add("pending", facts.pending);
  add("cached", facts.cached);
  return parts;
}

}  // namespace

std::optional<MemoryBreakdown> MakeBreakdown(const OomFacts& facts) {
  if (!facts.live) {
    return std::nullopt;
  }
  MemoryBreakdown breakdown;
  Quantity held;
  const auto parts = Held(facts);
  for (const auto& [key, part] : parts) {
    AddTo(held.bytes, part.bytes, breakdown.saturated);
    held.precision = SaturatingAdd(held.precision, part.precision);
  }
  const bool whole_device = facts.capacity && facts.free;
  breakdown.kind = whole_device ? BreakdownTotal::kCapacity
                   : facts.free ? BreakdownTotal::kKnown
                                : BreakdownTotal::kReserved;
  const Quantity free = facts.free.value_or(Quantity{});
  Quantity known{.bytes = free.bytes, .precision = SaturatingAdd(free.precision, held.precision)};
  AddTo(known.bytes, held.bytes, breakdown.saturated);
  Dividing divide(breakdown, whole_device ? *facts.capacity : known);
  if (facts.free) {
    divide.Take("free", *facts.free);
  }
  for (const auto& [key, part] : parts) {
    divide.Take(key, part);
  }
  if (!whole_device) {
    return breakdown;
  }
  breakdown.process_unusable =
      facts.process &&
      SaturatingAdd(facts.process->bytes, SaturatingAdd(facts.process->precision, held.precision)) <
          held.bytes;
  if (facts.process && facts.cached && !breakdown.process_unusable) {
    divide.Take("non_framework",
                {.bytes = SaturatingSubtract(facts.process->bytes, held.bytes),
                 .precision = SaturatingAdd(facts.process->precision, held.precision)});
    divide.Rest("other");
    // As capacity − free − process: what the framework holds cancels out.
    breakdown.parts.back().precision = SaturatingAdd(
        SaturatingAdd(facts.capacity->precision, facts.free->precision), facts.process->precision);
  } else {
    divide.Rest("outside");
  }
  return breakdown;
}

namespace {

void Add(std::int64_t& sum, std::int64_t bytes) {
  sum = SaturatingAdd(sum, bytes);
}

// Free memory in a segment that this request cannot use, by the reason.
void AddOutOfReach(const Segment& segment, const OomRequest& request, OomState& state) {
  const std::int64_t free = SaturatingSubtract(segment.size, segment.active);
  if (segment.pool_owner != request.pool_owner || segment.pool_id != request.pool_id) {
    Add(state.private_free, free);
  } else if (request.requested_bytes &&
             segment.small != (*request.requested_bytes <= kMaxSmallBlock)) {
    Add(state.other_class_free, free);
  } else {
    Add(state.other_stream_free, free);
  }
}

bool CanServe(const Segment& segment, const OomRequest& request) {
  const bool same_pool =
      segment.pool_owner == request.pool_owner && segment.pool_id == request.pool_id;
  return same_pool && (!request.requested_bytes ||
                       (segment.small == (*request.requested_bytes <= kMaxSmallBlock) &&
                        segment.stream == request.stream));
}

void AddBlock(const Block& block, bool usable, OomState& state) {
  if (block.state != BlockState::kInactive) {
    Add(state.requested, block.requested);
    return;
  }
  ++state.pieces;
  state.largest_free = std::max(state.largest_free, block.size);
  if (usable) {
    ++state.usable_pieces;
    Add(state.usable_free, block.size);
    state.usable_largest = std::max(state.usable_largest, block.size);
  }
}

}  // namespace

void AddState(const StateAtMoment& at, const std::vector<SegmentUse>& uses,
              const OomRequest& request, OomState& state) {
  for (std::size_t i = 0; i < at.state.segments.size(); ++i) {
    const Segment& segment = at.state.segments[i];
    ++state.segments;
    state.estimated += at.estimated[i] != 0 ? 1 : 0;
    state.expandable += segment.expandable ? 1 : 0;
    Add(state.reserved, segment.size);
    Add(state.live, segment.allocated);
    Add(state.pending, SaturatingSubtract(segment.active, segment.allocated));
    Add(state.free, SaturatingSubtract(segment.size, segment.active));
    const bool usable = CanServe(segment, request);
    if (!usable) {
      AddOutOfReach(segment, request, state);
    }
    std::int64_t listed = 0;
    const std::span blocks =
        std::span(at.state.blocks).subspan(segment.first_block, segment.block_count);
    state.gives.Add(uses[i].gives);
    for (const Block& block : blocks) {
      AddBlock(block, usable, state);
      Add(listed, block.state == BlockState::kInactive ? 0 : block.size);
    }
    Add(state.unlisted, std::max<std::int64_t>(SaturatingSubtract(segment.active, listed), 0));
  }
  Add(state.unplaced, at.unplaced_bytes);
}

std::int64_t SegmentFor(std::int64_t requested_bytes) {
  if (requested_bytes <= kMaxSmallBlock) {
    return kSmallBuffer;
  }
  if (requested_bytes < kMinLarge) {
    return kLargeBuffer;
  }
  return requested_bytes > INT64_MAX - kRoundLarge
             ? requested_bytes
             : (requested_bytes + kRoundLarge - 1) / kRoundLarge * kRoundLarge;
}

namespace {

// These two return whether that is the cause, and complete the verdict if it is.

// The request is larger than the device.
bool JudgeCapacity(const OomFacts& facts, OomVerdict& verdict) {
  if (!facts.requested_bytes || !facts.capacity) {
    return false;
  }
  const std::int64_t over = SaturatingSubtract(facts.requested_bytes->bytes, facts.capacity->bytes);
  if (over <= SaturatingAdd(facts.requested_bytes->precision, facts.capacity->precision)) {
    return false;
  }
  verdict.why = OomCause::kTooLarge;
  verdict.short_in_all = over;
  verdict.short_of_driver = std::max<std::int64_t>(
      SaturatingSubtract(facts.requested_bytes->bytes, GetBytes(facts.free)), 0);
  verdict.in_all = facts.capacity->bytes;
  return true;
}

// The limit of the process leaves no room for a segment of that size. `cached`: what the allocator
// has free.
bool JudgeLimit(const OomFacts& facts, const Quantity& segment_size, std::int64_t cached,
                OomVerdict& verdict) {
  if (!facts.limit || !facts.live || !facts.cached) {
    return false;
  }
  const std::int64_t held = SaturatingAdd(
      SaturatingAdd(GetBytes(facts.live), GetBytes(facts.pending)), GetBytes(facts.cached));
  const std::int64_t over =
      SaturatingSubtract(SaturatingAdd(held, segment_size.bytes), facts.limit->bytes);
  const std::int64_t rounding =
      SaturatingAdd(SaturatingAdd(facts.limit->precision, segment_size.precision),
                    SaturatingAdd(GetPrecision(facts.live), GetPrecision(facts.cached)));
  if (over <= -rounding) {
    return false;
  }
  verdict.why = OomCause::kLimit;
  verdict.close = over <= rounding;
  verdict.in_all = SaturatingSubtract(facts.limit->bytes, SaturatingSubtract(held, cached));
  verdict.short_in_all =
      std::max<std::int64_t>(SaturatingSubtract(facts.requested_bytes->bytes, verdict.in_all), 0);
  return true;
}

// Where a message leaves out what was free or cached: there cannot be more than what is not live.
void JudgeRest(const OomFacts& facts, OomVerdict& verdict) {
  if (!facts.capacity || !facts.live || !facts.requested_bytes) {
    return;
  }
  const std::int64_t rest = SaturatingSubtract(facts.capacity->bytes, facts.live->bytes);
  const std::int64_t lacking = SaturatingSubtract(facts.requested_bytes->bytes, rest);
  const std::int64_t blur =
      SaturatingAdd(SaturatingAdd(facts.capacity->precision, facts.live->precision),
                    facts.requested_bytes->precision);
  if (rest >= 0 && lacking > blur) {
    verdict.why = OomCause::kFull;
    verdict.at_most = true;
    verdict.in_all = rest;
    verdict.short_in_all = lacking;
  }
}

}  // namespace

bool DriverHadRoom(std::int64_t free, std::int64_t segment) {
  constexpr std::int64_t kNoDeviceHas = std::int64_t{1} << 50U;
  return free < kNoDeviceHas && SaturatingSubtract(free, segment) > std::max(segment, free / 8);
}

namespace {

// What the driver would have to have free for a segment of that size: it hands out whole pages, and
// keeps less than one. Source: messages in public logs, which ask for 2.00 MiB (or 1.12) with 2.44
// to 3.75 MiB free, and for 20.00 MiB with 21.38.
std::int64_t FreeFor(std::int64_t segment) {
  constexpr std::int64_t kPage = std::int64_t{2} << 20U;
  const std::int64_t pages = segment / kPage + (segment % kPage == 0 ? 1 : 2);
  return pages > INT64_MAX / kPage ? INT64_MAX : pages * kPage;
}

}  // namespace

OomVerdict Judge(const OomFacts& facts, const OomState* state) {
  OomVerdict verdict;
  if (JudgeCapacity(facts, verdict)) {
    return verdict;
  }
  if (!facts.requested_bytes || !facts.free) {
    JudgeRest(facts, verdict);
    return verdict;
  }
  const std::int64_t requested_bytes = facts.requested_bytes->bytes;
  const Quantity& segment_size = facts.segment_size ? *facts.segment_size : *facts.requested_bytes;
  const std::int64_t free = facts.free->bytes;
  // Less than nothing where a message contradicts itself; the ladder shows that.
  const std::int64_t cached =
      std::max<std::int64_t>(state != nullptr ? state->usable_free : GetBytes(facts.cached), 0);
  const std::int64_t blur = SaturatingAdd(facts.requested_bytes->precision, facts.free->precision);
  verdict.short_of_driver = std::max<std::int64_t>(SaturatingSubtract(segment_size.bytes, free), 0);
  verdict.in_all = SaturatingAdd(free, cached);
  verdict.short_in_all =
      std::max<std::int64_t>(SaturatingSubtract(requested_bytes, verdict.in_all), 0);
  // The limit is the cause only where the device had room for the request.
  if (verdict.short_of_driver == 0 && JudgeLimit(facts, segment_size, cached, verdict)) {
    return verdict;
  }
  if (state != nullptr && state->usable_largest >= requested_bytes) {
    verdict.why = OomCause::kUnexplained;
    return verdict;
  }
  if (state != nullptr && !facts.limit && DriverHadRoom(free, segment_size.bytes)) {
    verdict.why = OomCause::kLimit;
    return verdict;
  }
  verdict.last_page = verdict.short_of_driver == 0 && free < FreeFor(segment_size.bytes);
  if (verdict.short_of_driver == 0 && !verdict.last_page) {
    verdict.why = OomCause::kUnexplained;
    verdict.close = SaturatingSubtract(free, segment_size.bytes) <= blur;
    return verdict;
  }
  if (verdict.last_page && cached < requested_bytes) {
    verdict.why = OomCause::kFull;
    verdict.short_in_all = SaturatingSubtract(FreeFor(segment_size.bytes), free);
    return verdict;
  }
  if (state == nullptr && !facts.cached) {
    JudgeRest(facts, verdict);
    return verdict;
  }
  // What is larger than all that is cached would not fit there in one piece either.
  verdict.why = cached >= requested_bytes ? OomCause::kFragmentation : OomCause::kFull;
  const std::int64_t distance = Magnitude(SaturatingSubtract(requested_bytes, cached));
  verdict.close =
      distance <= SaturatingAdd(blur, state != nullptr ? 0 : GetPrecision(facts.cached));
  return verdict;
}

std::string_view ToName(OomCause cause) {
  return std::find_if(kCauses.begin(), kCauses.end(),
                      [cause](const auto& each) { return each.first == cause; })
      ->second;
}

std::optional<OomCause> FindCause(std::string_view name) {
  const auto* const found = std::find_if(kCauses.begin(), kCauses.end(),
                                         [name](const auto& each) { return each.second == name; });
  return found == kCauses.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace memtool
