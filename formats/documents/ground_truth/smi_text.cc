// nvidia-smi -q: blocks are distinguished by their indentation. Only FB Memory Usage and Processes
// count; BAR1 Memory Usage has the same keys.
#include <string>
#include <utility>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"

namespace memtool::formats::device_report {

namespace {

struct Entry {
  std::string_view key;
  std::string_view value;
};

Entry MakeEntry(std::string_view line) {
  const auto colon = line.find(" : ");
  return colon == std::string_view::npos
             ? Entry{Trimmed(line), {}}
             : Entry{Trimmed(line.substr(0, colon)), Trimmed(line.substr(colon + 3))};
}

void SetMemory(DeviceReading& reading, const Entry& entry, Place place) {
  const auto amount = [&] { return ReadAmount(entry.value, "MiB", place); };
  if (entry.key == "Used") {
    SetUsed(reading, amount(), kMiB / 2);
  } else if (entry.key == "Total") {
    reading.total = amount().bytes;
  } else if (entry.key == "Reserved") {
    reading.reserved = amount().bytes;
  } else if (entry.key == "Free") {
    reading.free = amount().bytes;
  }
}

}  // namespace

DeviceReport ReadSmiText(std::string_view text) {
  DeviceReport report{.form = "nvidia-smi-text", .display = "nvidia-smi -q"};
  std::string gpu;
  std::string_view block;
  for (const auto& line : SplitLines(text)) {
    const auto indent = line.text.find_first_not_of(' ');
    const auto entry = MakeEntry(line.text);
    if (indent == 0 && line.text.starts_with("GPU ")) {
      gpu = Trimmed(line.text.substr(4));
      block = {};
    } else if (indent == 4) {
      block = entry.key;
      if (block == "FB Memory Usage") {
        report.readings.push_back({.scope = ReportScope::kDevice, .gpu_name = gpu});
      }
    } else if (block == "FB Memory Usage" && !entry.value.empty()) {
      SetMemory(report.readings.back(), entry, GetPlace(line, entry.value));
    } else if (block == "Processes" && entry.key == "Process ID") {
      report.readings.push_back(
          {.scope = ReportScope::kProcess, .gpu_name = gpu, .pid = WholeNumber(entry.value)});
    } else if (block == "Processes" && !report.readings.empty()) {
      auto& reading = report.readings.back();
      if (entry.key == "Name") {
        reading.process = entry.value;
      } else if (entry.key == "Used GPU Memory") {
        SetUsed(reading, ReadAmount(entry.value, "MiB", GetPlace(line, entry.value)), kMiB / 2);
      }
    }
  }
  if (report.readings.empty()) {
    Refuse({}, "there is no block FB Memory Usage", "run: nvidia-smi -q -x");
  }
  return report;
}

}  // namespace memtool::formats::device_report
