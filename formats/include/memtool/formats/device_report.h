// Memory use as reported by something other than the recording: nvidia-smi, DCGM, rocm-smi,
// amd-smi, or the framework's own counters. These files are not recordings; their totals are
// compared with recordings. Read by Open() (open.h) where they are wanted: UTF-8, packed or not, at
// most 8 MiB unpacked. Errors: kLimit, kTruncated, kMalformed with "line L, column C",
// kUnknownFormat with the forms that are read. Shapes: memtool-formats(5). Units: everything here
// is bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"

namespace memtool::formats {

enum class ReportScope : std::uint8_t {
  kDevice,     // a whole device, other processes included
  kProcess,    // one process on one device
  kAllocator,  // a framework's own counters: torch.cuda.memory_stats(), JAX's memory_stats()
  kNumber,     // a bare number
};

// One row. An absent value was not in the file, or the file calls it unknown.
struct DeviceReading {
  ReportScope scope = ReportScope::kDevice;
  std::optional<std::int64_t> gpu{};  // ordinal, only where the file says it
  std::string_view noun = "GPU";      // what that numbers
  std::string gpu_name{};             // as written: UUID, bus id, instance or product name
  std::optional<std::int64_t> pid{};
  std::string process{};
  std::string time{};  // as written; rows of a loop differ in it
  // The pod, as the cluster names it, whose processes the figure is for; then scope is kProcess.
  std::string pod{};
  // The total that recordings are compared with. For an allocator: what it holds from the device
  // (torch: reserved; JAX: pool_bytes where given, else bytes_in_use).
  std::optional<std::int64_t> used{};
  std::optional<std::int64_t> reserved{};  // a device: by the driver; an allocator: by it
  std::optional<std::int64_t> free{};
  std::optional<std::int64_t> total{};      // capacity, or the allocator's limit
  std::optional<std::int64_t> allocated{};  // an allocator: bytes in blocks handed out
  std::optional<std::int64_t> requested{};  // an allocator: bytes requested in those
  std::optional<std::int64_t> peak{};       // an allocator: highest `allocated`
  std::string unavailable{};                // why `used` is absent, as written: "[N/A]"
  std::int64_t precision = 0;  // `used` is right within this: half a MiB for nvidia-smi
};

struct DeviceReport {
  std::string form{};     // stable name: "nvidia-smi-csv", "torch-memory-stats"
  std::string display{};  // for people
  std::vector<DeviceReading> readings{};
  std::vector<std::string> notes{};  // interpretations made while reading, as sentences
  bool has_histories = true;         // a loop of this form is read as a recording, too
};

struct ReportChoice {
  std::optional<std::int64_t> pid{};
  std::optional<std::string> gpu{};  // ordinal, or the name (GPU or pod) as the file writes it
};

// Selects one row. A pid selects processes; a gpu alone selects the device's row where there is
// one; without either, processes come before devices. Of the rows of a loop the highest counts.
// Nothing is ever added up. Errors: kUsage,
// with a list of the rows, when no row or several are left, or when `used` of the row is not known.
Result<DeviceReading> ChooseDeviceReading(const DeviceReport& report, const ReportChoice& choice);

// Whether rows say the same at several times, as a loop's do: such a file is a recording too.
bool IsSeries(const DeviceReport& report);

// "GPU 0, pid 1234 (python): 164.00 MiB".
std::string DescribeDeviceReading(const DeviceReading& reading);

}  // namespace memtool::formats
