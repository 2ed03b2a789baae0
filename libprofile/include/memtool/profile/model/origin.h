// Where a recording comes from, as facts that programs compare; Metadata::format_display says the
// same for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memtool {

// Who requested the memory that a recording is about.
enum class Framework : std::uint8_t {
  kUnknown,  // the format has many writers
  kJax,
  kPyTorch,
  kMxnet,
  kDriver,  // calls of the CUDA driver or the HIP runtime, whoever made them
  kRapids,  // RMM and what is built on it
};
// Whether a built-in dictionary knows what such memory may be for.
constexpr bool HasDictionary(Framework framework) {
  return framework != Framework::kUnknown && framework != Framework::kRapids;
}

enum class RecordingKind : std::uint8_t {
  kProfile,    // samples of one moment
  kSnapshot,   // an allocator's events and its state at their end
  kTagLog,     // allocations with names
  kTagStacks,  // call stacks of allocations that a tag log names
  kDriverLog,  // every allocation of a process from the driver
  kTrace,      // a profiler's events, memory among them
  kProgram,    // a compiled program, as its compiler describes it
  kLog,        // what a job printed about memory
};

struct Origin {
  Framework framework = Framework::kUnknown;
  RecordingKind kind = RecordingKind::kProfile;
  // Which devices the framework's allocator was for: "XPU", "NPU", "TPU"; empty = the usual ones
  // (CUDA, HIP).
  std::string platform{};
  std::string schema{};  // version of the format, as its reader names it; or empty
  // Of the recorded process; empty where the file does not say.
  std::string host{};
  std::optional<std::int64_t> process{};
  std::string rank{};                       // as the launcher writes it: "3", "3 of 8"
  std::vector<std::string> device_names{};  // by ordinal
};

}  // namespace memtool
