// Everything memtool info says about one input, before it is written as text or JSON.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/replay.h"
#include "output/report.h"

namespace memtool::commands {

struct TypeTotal {
  std::string type;
  std::string unit;
  std::int64_t total = 0;
  bool bytes = false;
};

// Where the bytes of a moment have their stacks from.
struct StackCoverage {
  std::int64_t with_stack = 0;
  std::int64_t before_recording = 0;  // no stack: allocated before the recording began
  std::int64_t without_stack = 0;     // recorded, but no frames were taken
};

struct DeviceCard {
  std::string name;
  TraceSummary summary;
  bool overflowed = false;
  StackCoverage at_peak;
};

struct InputCard {
  std::vector<TypeTotal> types;
  std::vector<std::string> label_keys;
  std::vector<DeviceCard> devices;
};

InputCard MakeCard(const std::shared_ptr<const Recording>& read);

// Members of the input's JSON object: sample_types, samples, stacks, functions, blind_spots,
// settings, marks, ledgers, devices.
std::vector<std::pair<std::string, std::string>> CardJson(const Recording& recording,
                                                          const InputCard& card);
// Rows of the table: property and value.
std::vector<std::pair<std::string, std::string>> CardRows(const Recording& recording,
                                                          const InputCard& card);

}  // namespace memtool::commands
