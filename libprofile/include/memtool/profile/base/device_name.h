// Device names and their matching.
#pragma once

#include <string_view>

namespace memtool {

// True when `name` ("cuda:3", "TPU_3(process=0,(1,0,0,1))", "3") denotes the device `wanted`: the
// same text, or the same ordinal.
bool DeviceMatches(std::string_view name, std::string_view wanted);

}  // namespace memtool
