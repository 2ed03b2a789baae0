// One allocation that failed, or one moment at which none did: the figures that a log's message or
// a snapshot gives, and what follows from them, as codes and numbers. Sizes in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/account/oom.h"
#include "memtool/profile/account/oom_message.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

// Where it happened, as far as is known.
struct OomPlace {
  enum class Kind : std::uint8_t {
    kUnknown,
    kHost,
    kDevice,   // `gpu`, of a message
    kChip,     // `device` as a message names it: "TPU 0x0x1_HBM0", "RPC0[10.0.0.5:50053]"
    kTrace,    // `trace`, of a snapshot
    kDevices,  // `devices` of a snapshot, all at once
  };
  Kind kind = Kind::kUnknown;
  std::string device{};       // kDevice: what its platform calls one: "GPU", "NPU"
  std::optional<int> gpu{};   // as the process numbers them
  std::optional<int> rank{};  // from the message, or from the name of the input
  std::string trace{};        // as TraceText has it
  std::size_t devices = 0;
};

// Why it failed: finer than OomCause, one for each conclusion that is worded differently.
enum class OomReason : std::uint8_t {
  kNone,           // nothing failed
  kFragmentation,  // enough in all, but not in one piece
  kFull,
  kPoolRefused,      // XLA's pool may have more, and the driver gave none
  kNeither,          // enough in all, but neither the driver nor the cache alone has enough
  kHeldElsewhere,    // MostlyElsewhere holds most of the device; of the rest no piece fits
  kLastPage,         // enough was free in the driver, but not in pages that it gives
  kNothingFree,      // next to nothing was free, and what was requested is not reported
  kLimit,            // the allocator's own: set_per_process_memory_fraction
  kUnstatedLimit,    // the same, where only what it refused says that there is one
  kMpsLimit,         // that of MPS, shared with others
  kTooLarge,         // more than the device has
  kAbsurd,           // more than any device has; how much is not reported
  kFreeBlockUnused,  // a free block was large enough
  kDriverRefused,    // the driver had more free than was wanted
  kReserve,          // the message says that expandable_segments_reserve is too small for it
  kStartRefused,     // a server does not start with the memory that is available
  kOfWording,        // the message has no figures, but its wording has one cause only
  kNoRoom,           // full, by what the log says before (`room`)
  kHostMemory,       // the host's ran out, not a device's
  kNoFigures,
  kOnlyRequested,  // nothing is known but what was requested
  kProgramOnly,    // besides that, what the compiler planned for the program
  kFreeUnknown,    // more than that is known, but not what the driver had free
  kCacheUnknown,   // the driver had too little; what the allocator had is unknown
};
// "driver_refused"
std::string_view ToName(OomReason reason);

// What the figures rule out.
enum class OomRuledOut : std::uint8_t {
  kNothing,
  kSmallDevice,    // live data fills too little of it
  kFragmentation,  // it would not have fit in one piece either
};
// "small_device"; empty for kNothing.
std::string_view ToName(OomRuledOut ruled_out);

struct OomConclusion {
  OomReason reason = OomReason::kNone;
  OomRuledOut ruled_out = OomRuledOut::kNothing;
  double requests = 0;    // what there was in all, as a multiple of the request
  double live_share = 0;  // of the ladder's whole: live and pending
  double free_share = 0;  // of a snapshot: free in the allocator, of what it reserved
  std::int64_t held = 0;  // by the allocator: live, pending and cached
  // The part of a program's ladder that the request is as large as; empty = none.
  std::string requested_part{};
};

// The most that was live at once in a recording.
struct OomPeak {
  std::int64_t bytes = 0;
  std::int64_t event = -1;
};

// What a log says of the device before the failure, where the message itself says nothing.
struct OomRoom {
  std::string producer;    // whose parts they are: "llama.cpp"
  std::int64_t free = 0;   // as a line said it
  std::uint64_t line = 0;  // which
  std::int64_t taken = 0;  // by the parts of later lines
  [[nodiscard]] std::int64_t left() const { return SaturatingSubtract(free, taken); }
};

struct OomCase {
  bool failed = false;     // an allocation failed
  bool snapshot = false;   // the figures come from a snapshot, not from a log
  bool elsewhere = false;  // no allocation failed at this moment, but at others
  OomPlace place;
  // For a snapshot: the last event that has happened, -1 = none; absent at the end.
  std::optional<std::int64_t> event;
  std::optional<std::int32_t> device;  // of a snapshot of several devices: the one looked at
  // When it failed, in nanoseconds since 1970: of a snapshot by UTC, of a log by its own clock.
  std::optional<std::int64_t> time;
  OomFacts facts;
  std::optional<OomState> state;  // of a snapshot
  // Of a recording of requests without the allocator's state: whose they are, and their highest.
  std::string allocator;
  std::optional<OomPeak> peak{};
  std::optional<OomRoom> room{};
  std::optional<MemoryBreakdown> breakdown;
  OomVerdict verdict;
  OomConclusion conclusion;
  bool unrecorded = false;            // a snapshot of which nothing was recorded
  bool ring_of_one = false;           // one of which only the last event was kept
  std::string platform;               // of a snapshot: Origin::platform
  std::vector<Setting> settings;      // of a snapshot; empty when it does not say
  std::optional<OomMessage> message;  // of a log
  // The processes that a message names hold more than the device has.
  bool processes_contradict = false;
  // What a message says is free, where that is more than the device has: in no fact.
  std::optional<Quantity> impossible_free{};

  // False where too few figures are reported to say how much was lacking.
  [[nodiscard]] bool judged() const {
    return failed && verdict.why != OomCause::kUnknown && !verdict.by_wording &&
           conclusion.reason != OomReason::kAbsurd;
  }
};

OomCase MakeCase(const OomMessage& message);
// At the moment of `selection`; its recording has a history, with an allocator's state or with an
// allocation that failed.
OomCase MakeCase(const Selection& selection);

// What a message is about, without the figures.
OomPlace GetPlace(const OomMessage& message);

// Whose allocator it is, and how it is configured.
struct OomPlatform {
  std::string framework;  // "PyTorch", "XLA"
  std::string kind;       // "CUDA", "HIP", "MPS"; as the message has it
  std::string device;     // "GPU", "NPU"
  std::string variable;   // where the allocator's settings are set
  std::string processes;  // the tool that names who holds the device; may be empty
  bool cuda = true;
};
OomPlatform GetPlatform(const OomCase& found);

// The figures are those of a pool that XLA took from the driver at the start.
bool IsPool(const OomCase& found);
// The figure, unless it is less than nothing because others contradict it.
std::optional<std::int64_t> Possible(const std::optional<Quantity>& quantity);
// What the program holds, without what is free in private pools.
std::optional<Quantity> GetLive(const OomCase& found);
// "fragmentation", "full", "limit", "too-large", "unexplained", "unknown"; "none" when nothing
// failed.
std::string_view VerdictName(const OomCase& found);

// The device that ran out last, as --device names it: by time where there is one, else by the order
// of the file. None when none did, or not `device` (empty = any).
std::optional<std::string> LastOom(const Recording& recording, std::string_view device);

// The part of the breakdown that matters more than what is live: more than half of the device is
// other processes' or this one's outside the allocator, or more than a quarter is free in private
// pools. Null: none.
const OomPart* MostlyElsewhere(const OomCase& found);

}  // namespace memtool
