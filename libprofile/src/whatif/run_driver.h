// The driver that a run of the model meets.
#pragma once

#include "memtool/profile/whatif/driver_model.h"
#include "memtool/profile/whatif/requests.h"
#include "memtool/profile/whatif/scenario.h"

namespace memtool::whatif {

DriverModel MakeDriver(const Requests& requests, const RunOptions& options);

}  // namespace memtool::whatif
