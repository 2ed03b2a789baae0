// What files that accompany a recording (nvidia-smi, memory_stats() …) say about the steps of an
// account.
#pragma once

#include "memtool/formats/device_report.h"
#include "memtool/profile/account/account.h"

namespace memtool::formats {

// From one reading of `truth`. A bare number is taken to be the process on the device.
AccountFacts MakeFacts(const DeviceReport& report, const DeviceReading& reading);
// The same; for a process also what the file says about its device.
AccountFacts FactsAround(const DeviceReport& report, const DeviceReading& chosen);

}  // namespace memtool::formats
