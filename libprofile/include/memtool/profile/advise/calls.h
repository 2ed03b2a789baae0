// Functions whose calls keep memory of the forward pass for the backward pass, and what each call
// keeps: what checkpointing it would not have to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/advise/program.h"

namespace memtool::advise {

// A function at one place of the calls above it.
struct Site {
  StringId function;
  StringId file;
  // The call, in the function above; none and 0 at the outermost.
  StringId caller_file;
  std::int64_t caller_line = 0;
  std::int64_t kept = 0;  // bytes of forward that are freed in a later backward
  std::uint64_t blocks = 0;
  std::uint32_t depth = 0;  // calls above it
  bool trains = false;      // a backward or an optimizer runs inside: it is no part of a forward
};

// The sites of a recording, and which of them each stack is under.
class Sites {
 public:
  explicit Sites(const Recording& recording);
  [[nodiscard]] std::span<const Site> all() const { return sites_; }
  // Outermost first; empty for a stack without Python of the program.
  [[nodiscard]] std::span<const std::uint32_t> Of(StackId stack) const;
  // Fills `kept`, `blocks` and `trains`.
  void Measure(const Program& program);

 private:
  class Finder;

  std::vector<Site> sites_;
  std::vector<std::uint32_t> begin_;  // per stack: rows of of_stacks_
  std::vector<std::uint32_t> of_stacks_;
};

// One call, as its allocations show it. Times are those of the program.
struct Call {
  std::vector<std::uint32_t> blocks;   // in the order in which they were made
  Time begin = 0;                      // its first allocation
  Time end = 0;                        // the next allocation of anybody after its last one
  std::vector<std::uint32_t> saved;    // alive at the end, freed in a backward
  std::vector<std::uint32_t> outputs;  // of `saved`: what the caller holds
  std::vector<std::uint32_t> kept;     // never freed
  // Alive at the end and freed before a backward: somebody else's, mostly what the call returns.
  std::vector<std::uint32_t> escaped;
  bool follows = false;  // begins where the call before it ends
};

// The calls of a site, in their order.
std::vector<Call> FindCalls(const Program& program, const Sites& sites, std::uint32_t site,
                            Rules rules = {});

}  // namespace memtool::advise
