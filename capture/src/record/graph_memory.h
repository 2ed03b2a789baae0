// What the graphs of each device hold, as one allocation per device whose size changes: the driver
// tells only how much it is.
#pragma once

#include <cstdint>

namespace memtool::capture {

inline constexpr std::int32_t kMostGraphDevices = 64;

// `bytes` are held now. `device` is below kMostGraphDevices. Nothing is recorded where that is what
// was held before.
void RecordGraphMemory(std::int32_t device, std::uint64_t bytes);

// In a forked child: its log starts with nothing held.
void ForgetGraphMemory();

}  // namespace memtool::capture
