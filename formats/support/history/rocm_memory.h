// What rocprofv3's traces and databases share: levels of memory, agents, and what is said of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "memtool/profile/model/recording_builder.h"
#include "support/history/address_events.h"

namespace memtool::formats::rocm {

// kReal: of a memory pool; kVirtual: physical memory behind a handle, mapped wherever the program
// likes; kScratch: what the runtime gives a queue for the private memory of its kernels. None
// includes another.
enum class Level : std::uint8_t { kReal, kVirtual, kScratch };

struct Agent {
  std::string name;          // as written: "Agent 2"
  std::int32_t device = -1;  // ordinal; -1: a CPU
  bool gpu = false;          // the ordinal counts GPUs only, as HIP does
};

// "GPU 1", "CPU 0", "Agent 2", which may be either.
Agent ParseAgent(std::string_view text);

MemoryPlace MakePlace(const Agent& agent, Level level, std::optional<std::int64_t> process);

// The label "ledger" of each level, "process", and "roctx".
class Labels {
 public:
  explicit Labels(RecordingBuilder& builder) : builder_(builder) {}
  LabelSetId Of(Level level, std::string_view process = {}, std::string_view range = {});

 private:
  RecordingBuilder& builder_;
  std::array<LabelSetId, 3> plain_{};
};

struct Counts {
  std::uint64_t damaged = 0;
  std::uint64_t unknown_frees = 0;
  std::uint64_t reopened = 0;
  std::uint64_t left_out = 0;
  std::uint64_t null_frees = 0;
  std::uint64_t other_operations = 0;
};
// Diagnostics, and what neither form knows.
void AddNotes(RecordingBuilder& builder, const Counts& counts);

}  // namespace memtool::formats::rocm
