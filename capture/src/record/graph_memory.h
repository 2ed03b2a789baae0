// What the graphs of each device hold, as one allocation per device whose size changes: the driver
// tells only the total.
#pragma once

#include <cstdint>

namespace memtool::capture {

inline constexpr std::int32_t kMaxGraphDevices = 64;

// `bytes` are held now. `device` is below kMaxGraphDevices. Nothing is recorded when that did not
// change.
void RecordGraphMemory(std::int32_t device, std::uint64_t bytes);

// In a forked child: its log starts with nothing held.
void ForgetGraphMemory();

}  // namespace memtool::capture
