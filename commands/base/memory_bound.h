// A bound on what the process may allocate, so that a small file that describes a lot cannot take
// all of a machine's memory.
#pragma once

#include <cstdint>

namespace memtool::commands {

// Three quarters of what the process's control groups allow; where none does, of what the machine
// has, but at least 4 GiB.
std::uint64_t DefaultMemoryBound();

// Says that the process is this program's own, to be called by its main(): a process that only runs
// command lines among other things is not bounded.
void OwnProcess();

// From now on, allocations beyond `bytes` fail. Processes that are started inherit it. Does nothing
// in a process that is not this program's own, nor in a build with sanitizers, whose own tables are
// larger than any bound.
void BoundMemory(std::uint64_t bytes);

// The bound in force, ulimit -v included; 0 when there is none.
std::uint64_t MemoryBound();

// Lifts the bound for as long as this lives: for what runs on its own afterwards, such as a
// browser.
class Unbounded {
 public:
  Unbounded();
  ~Unbounded();
  Unbounded(const Unbounded&) = delete;
  Unbounded& operator=(const Unbounded&) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace memtool::commands
