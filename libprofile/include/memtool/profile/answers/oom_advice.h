// What to do about a failed allocation: which advice applies, with the figures that decided it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/oom_case.h"
#include "memtool/profile/answers/value.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool {

enum class OomAdviceKind : std::uint8_t {
  // For a snapshot: how its allocator is configured.
  kSettingsUnknown,
  kSettingsDefault,
  kSettingsChanged,  // `settings`: those that differ from the defaults

  // Where nothing failed: how much of what is cached others could use, see OomState::gives.
  kEmptyCache,   // `bytes` go back
  kPoolsKeepIt,  // `bytes` stay in private pools

  // What to try.
  kEndProcess,          // `pid` holds `bytes`, `share` of the device; `lacking` were lacking
  kDivideRequest,       // of `bytes`
  kFreeDevice,          // the pool may still take `bytes`, which others hold
  kFreeOutside,         // `bytes`, most of the device, are this process's outside the allocator
  kFindOutside,         // `bytes`, most of the device, are outside the allocator, whoever's
  kFindProcesses,       // `bytes`, most of the device, are neither free nor this process's
  kFewerPools,          // `bytes`, most of the device, are free in private pools
  kOtherRefusals,       // the driver had enough free: what else may have refused
  kSmallerBlocks,       // of a TPU kernel whose scratch of `bytes` is more than VMEM has
  kCheckSizes,          // that the program computes
  kLiftMpsLimit,        // PYTORCH_MPS_HIGH_WATERMARK_RATIO
  kRaiseLimit,          // of `bytes`: set_per_process_memory_fraction
  kRaiseReserve,        // expandable_segments_reserve, by `variable`, above the `bytes` asked
  kOfWording,           // OomMessage::remedy
  kExpandableSegments,  // by `variable`, for the `bytes` cached; `when`
  kMaxSplitSize,        // below the `bytes` asked and above kMinSplitMiB; `when`
  kSmallerRequest,      // than `bytes`: freeing all that is live would not make room
  kHoldLess,            // `bytes` less
  kNeedLess,            // how much less is not known

  // Of a program whose table is reported:
  kFewerTemporaries,  // `bytes`, `share` of what the program needs
  kSmallerArguments,  // likewise
  kLayout,            // of `buffer`: `bytes` with padding, of which `lacking` are padding
  kOtherAllocator,    // XLA's and TensorFlow's pool is in pieces: cudaMallocAsync's grows

  // What not to try.
  kExpandableIsOn,

  // Of a snapshot, its requests sent through a model of the allocator (whatif/):
  kTrials,       // `trials`: which settings would have passed
  kChanges,      // `trials`: changes of the program that fit, the cheapest first (answers/advise.h)
  kNotReplayed,  // `variable`: why that is not known, a code of whatif::Obstacle, "differs" or
                 // "passes" (the model does not fail)

  // Memory that alone would have been enough: `bytes`, where `lacking` were lacking.
  kHeldOutside,       // of the process, outside the framework's allocator
  kFreeInGraphPools,  // a message's private pools
  kFreeForOtherStreams,
  kFreeInPrivatePools,  // a snapshot's
  kFreeForOtherSizes,   // in segments for blocks of another size class
  kFreeLater,           // when a stream releases it

  // Of a program whose table is reported:
  kRematStopped,      // at `bytes`; its goal was `lacking`
  kFragmentedLayout,  // `bytes` of the temporaries are fragmentation, `share` of them

  // Where to look next.
  kLookAtChanges,
  kLookAtMoment,
  kRecordFirst,
  kLookAtTables,  // of a message: its buffers or chunks can be read like a recording
  kLookAtHost,    // the kernel's log, limits of the job
  kFindHolders,   // of the `bytes` live: by a snapshot or a profile
  kFindWhoHeld,   // the same no figures reported
};
// "expandable_segments"
std::string_view ToName(OomAdviceKind kind);

// max_split_size_mb must be more than this: kLargeBuffer is 20 MiB.
inline constexpr std::int64_t kMinSplitMiB = 20;

// What is known of a setting that is advised.
enum class OomSettingState : std::uint8_t {
  kNotAdvised,
  kOff,          // a snapshot says so
  kUnknown,      // a snapshot does not list it: perhaps a framework without the setting
  kPerhapsOn,    // not in the message
  kLeftOut,      // a whole message does not advise it, as since 2.14 where it is on
  kOfNewer,      // the wording is that of versions that may not have it
  kPlatformMay,  // not every build of this platform has it
  kNamed,        // the message itself advises it
  kNotSet,       // a snapshot says so, and the other setting is off
};
// "perhaps_on"; empty for kNotAdvised.
std::string_view ToName(OomSettingState state);

// A setting of the allocator under which the requests up to the failure were replayed.
struct OomTrial {
  std::string setting;  // as PYTORCH_CUDA_ALLOC_CONF says it
  bool passes = false;
  bool unsure = false;       // by how the past is laid out
  std::int64_t spare = 0;    // of what the process could get; 0: it passes only after giving back
  std::int64_t retries = 0;  // how often it did
};

struct OomAdvice {
  OomAdviceKind kind = OomAdviceKind::kFindWhoHeld;
  std::int64_t bytes = 0;
  std::int64_t lacking = 0;
  std::int64_t pid = 0;
  std::optional<double> share{};  // where the device's capacity is reported
  std::string variable{};
  OomSettingState when = OomSettingState::kNotAdvised;
  std::vector<Setting> settings{};
  std::vector<OomTrial> trials{};
  bool buffers_listed = false;              // kLookAtTables: buffers of a program, not only chunks
  std::optional<OomBufferGroup> buffers{};  // kLayout; points into the message's program
};

// In the order in which to show it.
std::vector<OomAdvice> Advise(const OomCase& found);

// What other settings would have done to a failed request of a snapshot of PyTorch's: one piece of
// advice, or none where nothing failed. Replays the history several times.
// `event`: of the trace, the failure.
std::optional<OomAdvice> TryOthers(const HistoryIndex& index, const Trace& trace,
                                   std::int64_t event, const OomCase& found);

// Changes of the program with which its steps would have fitted, the cheapest first: one piece of
// advice, or none where no step was complete before the failure, or none of them fits.
std::optional<OomAdvice> TryChanges(const HistoryIndex& index, const Trace& trace,
                                    const OomCase& found);

// {"advice": "end_process", "bytes": …}: what the kind is about.
Value ToValue(const OomAdvice& advice);

}  // namespace memtool
