// Stands in for this folder in a build without it.
#include "memtool/formats/left_out.h"

#include "documents/ground_truth/forms.h"

namespace memtool::formats {

Result<DeviceReport> device_report::ReadDeviceReport(ByteWindow& /*in*/) {
  return Fail(NotInThisBuild("files of ground truth are"));
}

}  // namespace memtool::formats
