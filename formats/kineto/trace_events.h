// What memtool needs from a trace: spans that name code, and memory events. Everything else is
// skipped as it streams by.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "support/byte_interner.h"
#include "support/code_stacks.h"

namespace memtool::formats::kineto {

// Times in nanoseconds as in the file, without its base time.
struct MemoryEvent {
  std::int64_t time = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;      // negative: freed
  std::int64_t allocated = 0;  // on the device after the event; -1 = not reported
  std::int64_t reserved = 0;   // the same
  std::int32_t device = -1;    // -1: the CPU
  std::uint32_t thread = 0;
  bool failed = false;  // an allocation of `bytes` that did not fit
};

struct Step {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct TraceEvents {
  std::vector<CodeSpan> spans;  // names: rows of `names`
  std::vector<MemoryEvent> memory;
  std::vector<Step> steps;                  // ProfilerStep#N
  std::vector<std::int64_t> out_of_memory;  // times of failures that do not say the requested size
  ByteInterner names;
  std::vector<std::string> threads;
  std::int64_t base_time = 0;         // unix, added to all times
  std::uint64_t events = 0;           // of any kind
  std::uint64_t without_address = 0;  // memory events that cannot be matched
  std::uint64_t bad_times = 0;        // events left out because of them
};

// Throws ReadError.
TraceEvents ReadTraceEvents(ByteWindow& in, const Limits& limits);

}  // namespace memtool::formats::kineto
