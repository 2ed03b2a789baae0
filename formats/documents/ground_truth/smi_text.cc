// nvidia-smi -q: blocks are told apart by their indentation. Only FB Memory Usage and Processes
// count; BAR1 Memory Usage has the same keys.
#include <string>
#include <utility>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"

namespace memtool::formats::ground_truth {

namespace {

struct Entry {
  std::string_view key;
  std::string_view value;
};

Entry EntryOf(std::string_view line) {
  const auto colon = line.find(" : ");
  return colon == std::string_view::npos
             ? Entry{Trimmed(line), {}}
             : Entry{Trimmed(line.substr(0, colon)), Trimmed(line.substr(colon + 3))};
}

void SetMemory(Reading& reading, const Entry& entry, Place place) {
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

GroundTruth ReadSmiText(std::string_view text) {
  GroundTruth truth{.form = "nvidia-smi-text", .display = "nvidia-smi -q"};
  std::string gpu;
  std::string_view block;
  for (const auto& line : LinesOf(text)) {
    const auto indent = line.text.find_first_not_of(' ');
    const auto entry = EntryOf(line.text);
    if (indent == 0 && line.text.starts_with("GPU ")) {
      gpu = Trimmed(line.text.substr(4));
      block = {};
    } else if (indent == 4) {
      block = entry.key;
      if (block == "FB Memory Usage") {
        truth.readings.push_back({.scope = TruthScope::kDevice, .gpu_name = gpu});
      }
    } else if (block == "FB Memory Usage" && !entry.value.empty()) {
      SetMemory(truth.readings.back(), entry, PlaceOf(line, entry.value));
    } else if (block == "Processes" && entry.key == "Process ID") {
      truth.readings.push_back(
          {.scope = TruthScope::kProcess, .gpu_name = gpu, .pid = WholeNumber(entry.value)});
    } else if (block == "Processes" && !truth.readings.empty()) {
      auto& reading = truth.readings.back();
      if (entry.key == "Name") {
        reading.process = entry.value;
      } else if (entry.key == "Used GPU Memory") {
        SetUsed(reading, ReadAmount(entry.value, "MiB", PlaceOf(line, entry.value)), kMiB / 2);
      }
    }
  }
  if (truth.readings.empty()) {
    Refuse({}, "there is no block FB Memory Usage", "run: nvidia-smi -q -x");
  }
  return truth;
}

}  // namespace memtool::formats::ground_truth
