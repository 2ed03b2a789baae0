// Sizes of devices as options accept them.
#pragma once

#include <cstdint>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::commands {

// What a device or a process holds: like ParseSize, but a number below 1 MiB without a unit is an
// error that asks for one, because nobody means 12 bytes by it. `option`: for messages,
// "--capacity".
Result<std::int64_t> ParseDeviceSize(std::string_view option, std::string_view text, SizeBase base);

}  // namespace memtool::commands
