#include "memtool/profile/answers/oom_case.h"

#include <algorithm>
#include <utility>

#include "answers/oom/oom_conclude.h"
#include "answers/oom/oom_figures.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/vendor.h"

namespace memtool {

namespace {

std::optional<Quantity> ToQuantity(const std::optional<OomNumber>& number) {
  return number ? std::optional(Quantity{
                      .bytes = number->bytes, .precision = number->precision, .source = "message"})
                : std::nullopt;
}

// What is left of `whole` without `part`; rounding alone never makes it negative.
Quantity Left(const Quantity& whole, const Quantity& part) {
  Quantity left{.bytes = SaturatingSubtract(whole.bytes, part.bytes),
                .precision = SaturatingAdd(whole.precision, part.precision),
                .source = whole.source};
  if (left.bytes < 0 && Magnitude(left.bytes) <= left.precision) {
    left.bytes = 0;
  }
  return left;
}

// More in all than the device has, by more than rounding explains.
bool ProcessesContradict(const OomMessage& message) {
  const bool named = message.process || !message.others.empty();
  if (!message.capacity || !message.free || !named) {
    return false;
  }
  std::int64_t over = SaturatingSubtract(message.free->bytes, message.capacity->bytes);
  std::int64_t precision = SaturatingAdd(message.free->precision, message.capacity->precision);
  const auto add = [&](const std::optional<OomNumber>& used) {
    over = SaturatingAdd(over, used ? used->bytes : 0);
    precision = SaturatingAdd(precision, used ? used->precision : 0);
  };
  add(message.process);
  for (const OomProcess& process : message.others) {
    add(process.used);
  }
  return over > precision;
}

// A figure that no device allows is none.
std::optional<Quantity> TakeImpossibleFree(OomFacts& facts) {
  if (!facts.free || !facts.capacity ||
      SaturatingSubtract(facts.free->bytes, facts.capacity->bytes) <=
          SaturatingAdd(facts.free->precision, facts.capacity->precision)) {
    return std::nullopt;
  }
  return std::exchange(facts.free, std::nullopt);
}

// A pool that grows had not taken all that it may, and was refused more: its limit is not the
// cause.
bool HasRoomToGrow(const OomMessage& message) {
  const auto& reserved = message.pool ? message.pool->reserved : std::nullopt;
  const auto& held = reserved ? reserved : message.allocated;
  return (reserved || message.driver_refused) && held && message.limit && message.requested_bytes &&
         SaturatingAdd(held->bytes, message.requested_bytes->bytes) <= message.limit->bytes;
}

OomFacts MakeFacts(const OomMessage& message) {
  OomFacts facts;
  facts.requested_bytes = ToQuantity(message.requested_bytes);
  facts.segment_size = facts.requested_bytes;  // messages name the segment that the driver refused
  facts.free = ToQuantity(message.free);
  facts.capacity = ToQuantity(message.capacity);
  facts.limit = ToQuantity(message.limit);
  facts.process = ToQuantity(message.process);
  facts.live = ToQuantity(message.allocated);
  facts.private_pools = ToQuantity(message.private_pools);
  facts.cached = ToQuantity(message.unallocated);
  const auto reserved = ToQuantity(message.reserved);
  if (!facts.cached && reserved && facts.live) {
    facts.cached = Left(*reserved, *facts.live);
  }
  if (message.wording == OomWording::kTorchMps && facts.limit && facts.live && message.outside) {
    // Unified memory: what MPS may take is what there is, and others share it.
    facts.capacity = std::exchange(facts.limit, std::nullopt);
    facts.free = Left(Left(*facts.capacity, *facts.live), *ToQuantity(message.outside));
    facts.free->bytes = std::max<std::int64_t>(facts.free->bytes, 0);
  }
  if (IsOfPool(message) && facts.limit && facts.live && HasRoomToGrow(message)) {
    if (const auto taken = ToQuantity(message.pool ? message.pool->reserved : std::nullopt)) {
      facts.cached = Left(*taken, *facts.live);
    }
  } else if (IsOfPool(message) && facts.limit && facts.live) {
    // XLA takes its pool from the driver at the start; all that it hands out is in it.
    facts.capacity = std::exchange(facts.limit, std::nullopt);
    facts.free = Quantity{.source = "message"};
    facts.cached = Left(*facts.capacity, *facts.live);
  }
  if (message.wording == OomWording::kXlaTpu && facts.free) {
    // A TPU's memory is all XLA's: what is free may lie in pieces, and the driver has none.
    facts.cached = std::exchange(facts.free, Quantity{.source = "message"});
  }
  return facts;
}

}  // namespace

OomPlace GetPlace(const OomMessage& message) {
  OomPlace place{.rank = message.rank};
  if (message.wording == OomWording::kHost) {
    place.kind = OomPlace::Kind::kHost;
  } else if (message.gpu) {
    place.kind = OomPlace::Kind::kDevice;
    place.device = VendorOf(message.kind).device;
    place.gpu = message.gpu;
  } else if (message.device.ends_with(']')) {
    place.kind = OomPlace::Kind::kChip;
    place.device = message.device;
  } else if (!message.chip.empty()) {
    place.kind = OomPlace::Kind::kChip;
    place.device = "TPU " + message.chip;
  }
  return place;
}

namespace {

// vLLM names what its cache may take, or what is free.
void JudgeVllm(const OomFacts& facts, OomVerdict& verdict) {
  const auto& there = facts.limit ? facts.limit : facts.free;
  verdict.why = facts.limit ? OomCause::kLimit : OomCause::kFull;
  verdict.in_all = there ? there->bytes : 0;
  verdict.short_in_all =
      std::max<std::int64_t>(SaturatingSubtract(facts.requested_bytes->bytes, verdict.in_all), 0);
}

// A pool with a limit of its own; what the device had is not known.
void JudgeLibrary(const OomFacts& facts, OomVerdict& verdict) {
  const std::int64_t over = SaturatingSubtract(
      SaturatingAdd(GetBytes(facts.live), facts.requested_bytes->bytes), facts.limit->bytes);
  // Of one that does not say what it holds: what one buffer may have.
  verdict.why = over <= 0 ? verdict.why : facts.live ? OomCause::kLimit : OomCause::kTooLarge;
  verdict.in_all = SaturatingSubtract(facts.limit->bytes, GetBytes(facts.live));
  verdict.short_in_all = std::max<std::int64_t>(over, 0);
}

// A pool that the driver gave no more.
void JudgeGrowth(const OomFacts& facts, OomVerdict& verdict) {
  const std::int64_t requested = facts.requested_bytes->bytes;
  verdict.in_all = GetBytes(facts.cached);
  verdict.why = verdict.in_all >= requested ? OomCause::kFragmentation : OomCause::kFull;
  verdict.short_in_all = std::max<std::int64_t>(SaturatingSubtract(requested, verdict.in_all), 0);
}

// The message does not say what was asked for, and less is left than kernels' scratch memory or a
// communicator's buffers take.
bool NothingIsFree(const OomCase& found) {
  constexpr std::int64_t kNextToNothing = std::int64_t{256} << 20U;
  const OomFacts& facts = found.facts;
  return found.verdict.why == OomCause::kUnknown && !facts.requested_bytes && facts.free &&
         facts.free->bytes <= kNextToNothing;
}

// What follows only from how a framework words its failures.
void JudgeWording(OomCase& found, const OomMessage& message) {
  const OomWording wording = message.wording;
  const OomFacts& facts = found.facts;
  if (message.lacking && found.verdict.why == OomCause::kTooLarge) {
    found.verdict.short_in_all = message.lacking->bytes;
  }
  if (IsOfPool(message) && facts.limit && facts.live && facts.requested_bytes) {
    JudgeGrowth(facts, found.verdict);
  }
  const bool mps = wording == OomWording::kTorchMps && facts.capacity;
  if (found.verdict.last_page && (mps || wording == OomWording::kHost)) {
    found.verdict.last_page = false;  // pages of 2 MiB are those of devices with a driver
    found.verdict.why = mps ? OomCause::kLimit : OomCause::kUnknown;
  }
  if (mps && found.verdict.short_of_driver > 0) {
    found.verdict.why = OomCause::kLimit;
  }
  if (wording == OomWording::kVllm && facts.requested_bytes) {
    JudgeVllm(facts, found.verdict);
  }
  if (wording == OomWording::kLibrary && facts.limit && facts.requested_bytes) {
    JudgeLibrary(facts, found.verdict);
  }
  if (found.verdict.why == OomCause::kUnknown && message.cause) {
    found.verdict.why = *message.cause;
    found.verdict.by_wording = true;
  }
  if (NothingIsFree(found)) {
    found.verdict.why = OomCause::kFull;
  }
}

// The message does not say what the device has, and the largest of 2026 have half a TiB.
bool NoDeviceHas(const OomCase& found) {
  constexpr std::int64_t kMore = std::int64_t{2} << 40U;
  const OomFacts& facts = found.facts;
  return found.verdict.why == OomCause::kUnknown && found.place.kind != OomPlace::Kind::kHost &&
         !facts.capacity && !facts.limit && GetBytes(facts.requested_bytes) >= kMore;
}

}  // namespace

OomCase MakeCase(const OomMessage& message) {
  OomCase found{.failed = true,
                .place = GetPlace(message),
                .time = message.time,
                .facts = MakeFacts(message),
                .message = message};
  found.impossible_free = TakeImpossibleFree(found.facts);
  Judge(found);
  JudgeWording(found, message);
  if (IsPool(found) && found.breakdown) {
    std::erase_if(found.breakdown->parts,
                  [](const OomPart& part) { return part.bytes == 0 && part.precision == 0; });
  }
  if (message.absurd || NoDeviceHas(found)) {
    found.verdict.why = OomCause::kTooLarge;
    found.verdict.by_wording = false;
  }
  if (found.verdict.why == OomCause::kFragmentation && MostlyElsewhere(found) != nullptr) {
    found.verdict.why = OomCause::kFull;
  }
  found.processes_contradict = ProcessesContradict(message);
  Conclude(found);
  if (message.program) {
    // Who held what is in its table; what the pool had is in the reason.
    if (auto planned = MakeBreakdown(*message.program)) {
      found.breakdown = std::move(planned);
    }
  }
  return found;
}

const OomPart* MostlyElsewhere(const OomCase& found) {
  if (!found.breakdown || found.breakdown->kind != BreakdownTotal::kCapacity) {
    return nullptr;
  }
  const std::int64_t whole = found.breakdown->whole.bytes;
  const OomPart* most = nullptr;
  for (const OomPart& part : found.breakdown->parts) {
    // Where what is cached is not reported, it is in "outside" too.
    const bool of_others = part.key == "non_framework" || part.key == "other" ||
                           (part.key == "outside" && found.facts.cached);
    const bool much = (of_others && part.bytes > whole / 2) ||
                      (part.key == "private_pools" && part.bytes > whole / 4);
    most = much && (most == nullptr || part.bytes > most->bytes) ? &part : most;
  }
  return most;
}

namespace {

bool IsOfXla(const OomCase& found) {
  return found.message &&
         (IsOfPool(*found.message) || found.message->wording == OomWording::kXlaTpu);
}

}  // namespace

OomPlatform GetPlatform(const OomCase& found) {
  const std::string kind = found.message            ? found.message->kind
                           : found.platform.empty() ? std::string("CUDA")
                                                    : found.platform;
  const bool own = found.message && (found.message->wording == OomWording::kLibrary ||
                                     found.message->wording == OomWording::kVllm);
  OomPlatform platform{.framework = !found.allocator.empty() ? found.allocator
                                    : own || IsOfXla(found)  ? kind
                                                             : "PyTorch",
                       .kind = kind,
                       .device = std::string(VendorOf(kind).device),
                       .variable = SettingsVariable(kind),
                       .processes = std::string(VendorOf(kind).processes),
                       .cuda = VendorOf(kind).cuda};
  if (found.message && !found.message->variable.empty()) {
    platform.variable = found.message->variable;
  }
  return platform;
}

bool IsPool(const OomCase& found) {
  return IsOfXla(found) && found.facts.cached;
}

std::optional<std::int64_t> Possible(const std::optional<Quantity>& quantity) {
  return quantity && quantity->bytes >= 0 ? std::optional(quantity->bytes) : std::nullopt;
}

std::optional<Quantity> GetLive(const OomCase& found) {
  const OomFacts& facts = found.facts;
  return facts.live && facts.private_pools ? Left(*facts.live, *facts.private_pools) : facts.live;
}

}  // namespace memtool
