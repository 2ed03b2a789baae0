// How devices are named, and asked for.
#pragma once

#include <string_view>

namespace memtool {

// True when `name` ("cuda:3", "TPU_3(process=0,(1,0,0,1))", "3") is the device that `wanted` asks
// for: the same text, or the same ordinal.
bool DeviceMatches(std::string_view name, std::string_view wanted);

}  // namespace memtool
