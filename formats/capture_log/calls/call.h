// One event record of a log, and what is counted about all of them.
#pragma once

#include <array>
#include <cstdint>

namespace memtool::formats::capture_log {

// The ids are the log's.
struct Call {
  std::uint64_t time = 0;        // ns after time 0
  std::uint64_t attributes = 0;  // the attribute set
  std::uint64_t key = 0;
  std::int64_t size = 0;
  std::uint64_t stack = 0;
  bool estimated = false;
  std::array<std::uint64_t, 4> numbers{};  // of the rarer records, in their order
};

// What the log says about the program, besides its memory.
struct CallCounts {
  std::uint64_t unknown_frees = 0;       // of memory that the log did not see allocated
  std::uint64_t refused_frees = 0;       // the driver refused
  std::uint64_t failed_calls = 0;        // allocations refused for reasons other than memory
  std::uint64_t estimated = 0;           // arrays: the size was worked out
  std::uint64_t imports = 0;             // memory of other processes
  std::uint64_t unknown_attributes = 0;  // events whose definitions were lost
  std::uint64_t graph_nodes = 0;         // allocations in graphs: made by launches, not by the call
  std::uint64_t graph_bytes = 0;         // of them
  std::uint64_t reopened = 0;            // allocations at an address that was live
};

}  // namespace memtool::formats::capture_log
