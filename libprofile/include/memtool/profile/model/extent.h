// How much of what happened a snapshot holds: the same file is written where nothing was recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "memtool/profile/model/recording.h"

namespace memtool {

enum class Extent : std::uint8_t {
  kWhole,      // or an input that has no history by its nature
  kNothing,    // what is there at the end, and not who allocated it
  kLastEvent,  // all that is live has its stack, but of the events only the last one was kept
};
Extent ExtentOf(const Recording& recording);

// The module of PyTorch for Origin::platform: "cuda", "npu".
std::string TorchModule(std::string_view platform);
// What has to be called before the program allocates: "torch.cuda.memory._record_memory_history()".
std::string RecordCall(const Recording& recording);

// Codes of the diagnostics of what is not whole.
inline constexpr std::string_view kNothingRecorded = "nothing_recorded";
inline constexpr std::string_view kRingOfOneEvent = "ring_of_one_event";
// True for these: what such an input held at most is not known.
inline bool LeavesPeakUnknown(std::string_view code) {
  return code == kNothingRecorded || code == kRingOfOneEvent;
}

// A sentence for every answer, where not all was recorded, or something else than memory.
std::optional<Diagnostic> NoteLacking(const Recording& recording);

}  // namespace memtool
