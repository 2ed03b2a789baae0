#include "memtool/profile/account/account.h"

#include <span>
#include <utility>

#include "memtool/profile/allocator/free_memory.h"
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

class Ladder {
 public:
  void Fact(int level, std::string key, const Maybe& fact) {
    AccountStep step{.key = std::move(key), .level = level};
    if (fact) {
      Fill(step, *fact);
      step.kind = AccountStep::Kind::kFact;
    }
    steps_.push_back(std::move(step));
  }

  void Difference(int level, std::string key, const Maybe& whole, const Maybe& part) {
    AccountStep step{.key = std::move(key), .level = level};
    if (whole && part) {
      const Quantity rest = Minus(*whole, *part);
      Fill(step, rest);
      step.kind = AccountStep::Kind::kDifference;
      step.contradicts = rest.bytes < -rest.precision;
    }
    steps_.push_back(std::move(step));
  }

  std::vector<AccountStep> Take() && { return std::move(steps_); }

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
  const auto events = EventsOf(recording, trace);
  for (std::int64_t i = 0; i <= last && i < static_cast<std::int64_t>(events.size()); ++i) {
    const Event& event = events[static_cast<std::size_t>(i)];
    if (event.action == Action::kSegmentAlloc || event.action == Action::kSegmentMap) {
      reserved = SaturatingAdd(reserved, event.size);
    } else if (event.action == Action::kSegmentFree || event.action == Action::kSegmentUnmap) {
      reserved = SaturatingSubtract(reserved, event.size);
    }
  }
  return reserved;
}

bool AtEnd(const std::vector<MomentOfTrace>& moments) {
  for (const MomentOfTrace& moment : moments) {
    if (moment.event + 1 != static_cast<std::int64_t>(moment.summary.events)) {
      return false;
    }
  }
  return true;
}

void AddState(const Recording& recording, std::int32_t device, AccountFacts& facts) {
  Quantity reserved{.source = "snapshot"};
  Quantity allocated = reserved;
  Quantity requested = reserved;
  FreeMemory gives;
  for (const Segment& segment : recording.state->segments) {
    if (segment.host || (device >= 0 && segment.device != device)) {
      continue;
    }
    reserved.bytes = SaturatingAdd(reserved.bytes, segment.size);
    std::int64_t used = 0;
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const Block& block = recording.state->blocks[segment.first_block + i];
      if (block.state != BlockState::kInactive) {
        used = SaturatingAdd(used, block.size);
        requested.bytes = SaturatingAdd(requested.bytes, block.requested);
      }
    }
    allocated.bytes = SaturatingAdd(allocated.bytes, used);
    gives.Add(FreeIn(
        segment,
        std::span(recording.state->blocks).subspan(segment.first_block, segment.block_count)));
  }
  facts.reserved = reserved;
  facts.allocated = allocated;
  facts.requested = requested;
  if (gives.unlisted <= 0) {
    facts.releasable = Quantity{.bytes = gives.returnable, .source = reserved.source};
  }
  if (gives.private_pool > 0) {
    facts.private_pools = Quantity{.bytes = gives.private_pool, .source = reserved.source};
  }
}

// At an out-of-memory event the driver's free memory is known.
void AddOom(const Recording& recording, const std::vector<MomentOfTrace>& moments,
            std::int32_t device, AccountFacts& facts) {
  for (const MomentOfTrace& moment : moments) {
    const Trace& trace = recording.history->traces[moment.trace];
    if (moment.event < 0 || (device >= 0 && trace.device != device)) {
      continue;
    }
    const Event& event = EventsOf(recording, trace)[static_cast<std::size_t>(moment.event)];
    if (event.action == Action::kOom && event.key != kNotTold) {
      facts.free = Quantity{.bytes = static_cast<std::int64_t>(event.key), .source = "OOM event"};
    }
  }
}

}  // namespace

void Complete(AccountFacts& facts) {
  if (!facts.used && facts.capacity && facts.free) {
    facts.used = Minus(*facts.capacity, *facts.free);
  }
  if (!facts.free && facts.capacity && facts.used) {
    facts.free = Minus(*facts.capacity, *facts.used);
  }
  if (!facts.capacity && facts.free && facts.used) {
    facts.capacity = Quantity{.bytes = SaturatingAdd(facts.free->bytes, facts.used->bytes),
                              .precision = facts.free->precision + facts.used->precision,
                              .source = facts.used->source};
  }
}

void Supplement(AccountFacts& facts, const AccountFacts& more) {
  for (const auto fact :
       {&AccountFacts::capacity, &AccountFacts::free, &AccountFacts::used, &AccountFacts::process,
        &AccountFacts::recorded, &AccountFacts::reserved, &AccountFacts::allocated,
        &AccountFacts::requested, &AccountFacts::releasable, &AccountFacts::private_pools}) {
    if (!(facts.*fact)) {
      facts.*fact = more.*fact;
    }
  }
  if (facts.reserved_kind == ReservedKind::kFramework) {
    facts.reserved_kind = more.reserved_kind;
    facts.pool_limit = more.pool_limit;
  }
}

std::vector<AccountStep> LadderOf(const AccountFacts& given) {
  AccountFacts facts = given;
  Complete(facts);
  Ladder ladder;
  ladder.Fact(0, "capacity", facts.capacity);
  ladder.Fact(1, "free", facts.free);
  ladder.Fact(1, "used", facts.used);
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
  ladder.Difference(4, "cached", facts.reserved, facts.allocated);
  Maybe cached =
      facts.reserved && facts.allocated ? Maybe(Minus(*facts.reserved, *facts.allocated)) : Maybe();
  ladder.Fact(5, "releasable", facts.releasable);
  if (facts.private_pools) {
    ladder.Fact(5, "private_pools", facts.private_pools);
    cached = cached ? Maybe(Minus(*cached, *facts.private_pools)) : cached;
  }
  ladder.Difference(5, "fragmented", cached, facts.releasable);
  ladder.Fact(4, "allocated", facts.allocated);
  ladder.Difference(5, "rounding", facts.allocated, facts.requested);
  ladder.Fact(5, "requested", facts.requested);
  return std::move(ladder).Take();
}

AccountFacts FactsOf(const Recording& recording, const std::vector<MomentOfTrace>& moments,
                     std::int32_t device) {
  AccountFacts facts;
  AddOom(recording, moments, device, facts);
  if (recording.state && !recording.state->segments.empty() && AtEnd(moments)) {
    AddState(recording, device, facts);
    return facts;
  }
  for (const MomentOfTrace& moment : moments) {
    const Trace& trace = recording.history->traces[moment.trace];
    if (device >= 0 && trace.device != device) {
      continue;
    }
    if (moment.summary.segment_events == 0 && moment.summary.reserved_base_bytes == 0) {
      continue;  // a history without segments does not tell
    }
    const std::int64_t reserved =
        ReservedAt(recording, trace, moment.event, moment.summary.reserved_base_bytes);
    facts.reserved =
        Quantity{.bytes = SaturatingAdd(facts.reserved ? facts.reserved->bytes : 0, reserved),
                 .source = "replay"};
  }
  return facts;
}

}  // namespace memtool
