// The forms, one function each. They throw ReadError; `text` is checked UTF-8 without NUL.
#pragma once

#include <string>
#include <string_view>

#include "memtool/formats/device_report.h"
#include "memtool/profile/base/result.h"

namespace memtool::formats {
class ByteWindow;
}

namespace memtool::formats::device_report {

// What the window holds, at most 8 MiB; the window is not advanced. Throws ReadError. Errors:
// kLimit.
Result<DeviceReport> ReadDeviceReport(ByteWindow& in);

bool LooksLikeSmiCsv(std::string_view first_line);
DeviceReport ReadSmiCsv(std::string_view text);
DeviceReport ReadSmiXml(std::string_view text);
DeviceReport ReadSmiText(std::string_view text);
// The table of nvidia-smi or hl-smi without arguments.
bool LooksLikeSmiTable(std::string_view text);
DeviceReport ReadSmiTable(std::string_view text);
bool LooksLikeTpuInfo(std::string_view text);
DeviceReport ReadTpuInfo(std::string_view text);
// The boxes of xpu-smi stats.
bool LooksLikeXpuStats(std::string_view text);
DeviceReport ReadXpuStats(std::string_view text);
// Lines of JSON.
bool LooksLikeNeuronMonitor(std::string_view first_line);
DeviceReport ReadNeuronMonitor(std::string_view text);
DeviceReport ReadDcgmExporter(std::string_view text);
DeviceReport ReadDcgmDmon(std::string_view text);
// What Python prints of a dict, as JSON; see LooksLikePython.
bool LooksLikePython(std::string_view text);
std::string JsonOfPython(std::string_view text);
// torch and JAX counters, rocm-smi, amd-smi, a JSON number.
DeviceReport ReadDeviceReportJson(std::string_view text);

}  // namespace memtool::formats::device_report
