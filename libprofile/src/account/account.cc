#include "memtool/profile/account/account.h"

#include <algorithm>
#include <span>
#include <utility>

#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/allocator/free_memory.h"
#include "memtool/profile/allocator/request_sizes.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/replay/replay.h"
#include "memtool/profile/select/at_moment.h"

namespace memtool {

namespace {

using Maybe = std::optional<Quantity>;

Quantity Minus(const Quantity& a, const Quantity& b) {
  return {.bytes = SaturatingSubtract(a.bytes, b.bytes),
          .precision = SaturatingAdd(a.precision, b.precision),
          .source = a.source == b.source ? a.source : a.source + " − " + b.source};
}

// What is left of a whole; none where the part is larger by more than rounding explains.
Maybe Left(const Quantity& whole, const Quantity& part) {
  Quantity left = Minus(whole, part);
  if (SaturatingAdd(left.bytes, left.precision) < 0) {
    return std::nullopt;
  }
  left.bytes = std::max<std::int64_t>(left.bytes, 0);
  return left;
}

class Ladder {
 public:
  // `contradicts`: other figures do, so that it is unknown.
  void Fact(int level, std::string key, const Maybe& fact, bool contradicts = false) {
    AccountStep step{.key = std::move(key), .level = level, .contradicts = contradicts};
    if (fact && !contradicts) {
      Fill(step, *fact);
      step.kind = AccountStep::Kind::kFact;
    }
    steps_.push_back(std::move(step));
  }

  void Difference(int level, std::string key, const Maybe& whole, const Maybe& part) {
    AccountStep step{.key = std::move(key), .level = level};
    if (whole && part) {
      const Maybe rest = Left(*whole, *part);
      step.contradicts = !rest;
      if (rest) {
        Fill(step, *rest);
        step.kind = AccountStep::Kind::kDifference;
      }
    }
    steps_.push_back(std::move(step));
  }

  std::vector<AccountStep> Take() && { return std::move(steps_); }
  // Without what is unknown and what nothing is in.
  std::vector<AccountStep> TakeKnown() && {
    std::erase_if(steps_, [](const AccountStep& step) {
      return !step.contradicts && step.bytes == 0 && step.key != "requested";
    });
    std::vector<int> wholes;  // levels of what holds the step
    for (AccountStep& step : steps_) {
      while (!wholes.empty() && wholes.back() >= step.level) {
        wholes.pop_back();
      }
      wholes.push_back(step.level);
      step.level = static_cast<int>(wholes.size()) - 1;
    }
    return std::move(steps_);
  }

 private:
  static void Fill(AccountStep& step, const Quantity& quantity) {
    step.bytes = quantity.bytes;
    step.precision = quantity.precision;
    step.source = quantity.source;
  }
  std::vector<AccountStep> steps_;
};

std::int64_t ReservedAt(const Recording& recording, const Trace& trace, std::int64_t last,
                        std::int64_t base) {
  std::int64_t reserved = base;
  const auto events = GetEvents(recording, trace);
  for (std::int64_t i = 0; i <= last && i < static_cast<std::int64_t>(events.size()); ++i) {
    reserved = RunningAdd(reserved, ReservedChange(events[static_cast<std::size_t>(i)]));
  }
  return reserved;
}

// The allocator's state, summed over devices.
class StateSum {
 public:
  void Add(const HistoryIndex& index, const MomentOfTrace& moment) {
    const Recording& recording = index.recording();
    const Trace& trace = recording.history->traces[moment.trace];
    const StateAtMoment at = StateAt(index, trace, moment.event);
    const auto uses = UseOfEach(at, recording, trace, moment.event);
    unplaced_ = unplaced_ || at.unplaced_blocks > 0;
    for (std::size_t i = 0; i < at.state.segments.size(); ++i) {
      const Segment& segment = at.state.segments[i];
      if (segment.host) {
        continue;
      }
      ++segments_;
      const auto blocks =
          std::span(at.state.blocks).subspan(segment.first_block, segment.block_count);
      AddSegment(segment, blocks);
      gives_.Add(uses[i].gives);
      request_ = std::max(request_, uses[i].gives.fragmented > 0 ? uses[i].request : 0);
    }
  }

  // False where there are no segments, or where some are missing, so that live blocks lie in none.
  [[nodiscard]] bool known() const { return segments_ > 0 && !unplaced_; }

  void FillIn(AccountFacts& facts, std::string_view source) const {
    const auto said = [source](std::int64_t bytes) {
      return Quantity{.bytes = bytes, .source = std::string(source)};
    };
    facts.reserved = said(reserved_);
    facts.allocated = said(active_);
    facts.requested = said(requested_);
    if (unlisted_ > 0) {
      facts.unlisted = said(unlisted_);
    }
    if (gives_.unlisted <= 0) {
      facts.releasable = said(gives_.returnable);
      facts.reusable = said(gives_.reusable());
      facts.fragmented = said(gives_.fragmented);
      facts.request = request_;
    }
    if (gives_.private_pool > 0) {
      facts.private_pools = said(gives_.private_pool);
    }
  }

 private:
  void AddSegment(const Segment& segment, std::span<const Block> blocks) {
    std::int64_t listed = 0;
    for (const Block& block : blocks) {
      if (block.state != BlockState::kInactive) {
        listed = SaturatingAdd(listed, block.size);
        requested_ = SaturatingAdd(requested_, block.requested);
      }
    }
    reserved_ = SaturatingAdd(reserved_, segment.size);
    active_ = SaturatingAdd(active_, segment.active);
    unlisted_ = SaturatingAdd(
        unlisted_, std::max<std::int64_t>(SaturatingSubtract(segment.active, listed), 0));
  }

  std::int64_t reserved_ = 0, active_ = 0, requested_ = 0, unlisted_ = 0;
  std::int64_t request_ = 0, segments_ = 0;
  bool unplaced_ = false;
  FreeMemory gives_;
};

// At an out-of-memory event the driver's free memory is known.
void AddOom(const Recording& recording, const std::vector<MomentOfTrace>& moments,
            AccountFacts& facts) {
  for (const MomentOfTrace& moment : moments) {
    const Trace& trace = recording.history->traces[moment.trace];
    const Event* failed = FailedAt(recording, trace, moment.event);
    if (failed != nullptr && failed->key != kUnknownBytes) {
      facts.free = Quantity{.bytes = static_cast<std::int64_t>(failed->key), .source = "OOM event"};
    }
  }
}

}  // namespace

void Complete(AccountFacts& facts) {
  if (!facts.used && facts.capacity && facts.free) {
    facts.used = Left(*facts.capacity, *facts.free);
  }
  if (!facts.free && facts.capacity && facts.used) {
    facts.free = Left(*facts.capacity, *facts.used);
  }
  if (!facts.capacity && facts.free && facts.used) {
    std::int64_t capacity = facts.free->bytes;
    bool saturated = false;
    AddTo(capacity, facts.used->bytes, saturated);
    if (!saturated) {  // else nobody knows it
      facts.capacity =
          Quantity{.bytes = capacity,
                   .precision = SaturatingAdd(facts.free->precision, facts.used->precision),
                   .source = facts.used->source};
    }
  }
}

void Supplement(AccountFacts& facts, const AccountFacts& more) {
  for (const auto fact :
       {&AccountFacts::capacity, &AccountFacts::free, &AccountFacts::used, &AccountFacts::process,
        &AccountFacts::recorded, &AccountFacts::reserved, &AccountFacts::allocated,
        &AccountFacts::requested, &AccountFacts::releasable, &AccountFacts::private_pools,
        &AccountFacts::reusable, &AccountFacts::fragmented, &AccountFacts::unlisted}) {
    if (!(facts.*fact)) {
      facts.*fact = more.*fact;
    }
  }
  facts.cached_unknown = facts.cached_unknown || more.cached_unknown;
  facts.request = std::max(facts.request, more.request);
  if (facts.platform.empty()) {
    facts.platform = more.platform;
  }
  if (facts.reserved_kind == ReservedKind::kFramework) {
    facts.reserved_kind = more.reserved_kind;
    facts.pool_limit = more.pool_limit;
  }
}

namespace {

// Whether the device has more or less than what is free and used in it; `facts` are complete.
bool DeviceContradicts(const AccountFacts& facts) {
  if (!facts.capacity || (!facts.free && !facts.used)) {
    return false;
  }
  if (!facts.free || !facts.used) {
    return true;  // what there is of it is more than all
  }
  // Of one source, the rest is what the driver keeps for itself.
  const Quantity rest = Minus(Minus(*facts.capacity, *facts.free), *facts.used);
  return Magnitude(rest.bytes) > rest.precision &&
         (rest.bytes < 0 || facts.free->source != facts.used->source);
}

// Whether what is unknown could be found out: of a plan nothing, of a heap what somebody told.
bool IsOfDevice(const AccountFacts& facts) {
  const bool told = facts.capacity || facts.free || facts.used || facts.process || facts.reserved;
  return facts.reserved_kind != ReservedKind::kPlan &&
         (facts.reserved_kind != ReservedKind::kNoDevice || told);
}

}  // namespace

std::vector<AccountStep> MakeAccountSteps(const AccountFacts& given) {
  AccountFacts facts = given;
  Complete(facts);
  Ladder ladder;
  const bool contradicts = DeviceContradicts(facts);
  ladder.Fact(0, "capacity", facts.capacity);
  ladder.Fact(1, "free", facts.free, contradicts && (!facts.free || facts.used));
  if (!contradicts && facts.capacity && facts.free && facts.used) {
    const Quantity beside = Minus(*facts.capacity, *facts.free);
    if (Minus(beside, *facts.used).bytes > Minus(beside, *facts.used).precision) {
      ladder.Difference(1, "driver_reserved", beside, facts.used);
    }
  }
  ladder.Fact(1, "used", facts.used, contradicts && !facts.used);
  ladder.Difference(2, "other_processes", facts.used, facts.process);
  ladder.Fact(2, "process", facts.process);
  ladder.Difference(3, "below_framework", facts.process, facts.reserved);
  if (facts.recorded) {
    ladder.Fact(4, "recorded", facts.recorded);
    const Maybe below =
        facts.process && facts.reserved ? Maybe(Minus(*facts.process, *facts.reserved)) : Maybe();
    ladder.Difference(4, "unrecorded", below, facts.recorded);
  }
  ladder.Fact(3, "reserved", facts.reserved);
  ladder.Difference(4, "cached", facts.cached_unknown ? Maybe() : facts.reserved, facts.allocated);
  ladder.Fact(5, "releasable", facts.releasable);
  if (facts.private_pools) {
    ladder.Fact(5, "private_pools", facts.private_pools);
  }
  if (facts.reusable && facts.reusable->bytes > 0) {
    ladder.Fact(5, "reusable", facts.reusable);
  }
  ladder.Fact(5, "fragmented", facts.fragmented);
  ladder.Fact(4, "allocated", facts.allocated);
  Maybe listed = facts.allocated;
  if (facts.unlisted) {
    ladder.Fact(5, "unlisted", facts.unlisted);
    listed = listed ? Maybe(Minus(*listed, *facts.unlisted)) : listed;
  }
  ladder.Difference(5, "rounding", listed, facts.requested);
  ladder.Fact(5, "requested", facts.requested);
  return IsOfDevice(facts) ? std::move(ladder).Take() : std::move(ladder).TakeKnown();
}

namespace {

// What a log says that the devices have, if it says it of all, and what the driver said is used.
void AddOfLog(const Recording& recording, const std::vector<MomentOfTrace>& moments,
              AccountFacts& facts) {
  if (recording.metadata.origin.kind != RecordingKind::kLog) {
    return;
  }
  const auto add = [](Maybe& fact, std::int64_t bytes) {
    fact = Quantity{.bytes = SaturatingAdd(fact ? fact->bytes : 0, bytes), .source = "log"};
  };
  bool all = true;
  for (const MomentOfTrace& moment : moments) {
    const Trace& trace = recording.history->traces[moment.trace];
    const MemoryDomain& domain = recording.history->domains[trace.blocks.value()];
    if (domain.level == DomainLevel::kDriver) {
      add(domain.name == "process" ? facts.process : facts.used, moment.live);
    }
    all = all && domain.capacity;
    add(facts.capacity, domain.capacity.value_or(0));
  }
  if (!all) {
    facts.capacity.reset();
  }
}

}  // namespace

AccountFacts MakeFacts(const HistoryIndex& index, const std::vector<MomentOfTrace>& moments) {
  const Recording& recording = index.recording();
  AccountFacts facts;
  AddOom(recording, moments, facts);
  AddOfLog(recording, moments, facts);
  if (recording.state) {
    StateSum sum;
    for (const MomentOfTrace& moment : moments) {
      sum.Add(index, moment);
    }
    if (sum.known()) {
      sum.FillIn(facts, recording.metadata.origin.kind == RecordingKind::kProgram ? "program"
                                                                                  : "snapshot");
      return facts;
    }
  }
  for (const MomentOfTrace& moment : moments) {
    if (moment.summary.segment_events == 0 && moment.summary.reserved_base_bytes == 0) {
      continue;  // a history without segments does not tell
    }
    const Trace& trace = recording.history->traces[moment.trace];
    const std::int64_t reserved =
        ReservedAt(recording, trace, moment.event, moment.summary.reserved_base_bytes);
    facts.reserved =
        Quantity{.bytes = SaturatingAdd(facts.reserved ? facts.reserved->bytes : 0, reserved),
                 .source = "replay"};
  }
  return facts;
}

}  // namespace memtool
