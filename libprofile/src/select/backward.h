// Which allocations of a backward pass are its own temporaries; internal to at_moment.
#pragma once

#include <cstdint>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {

// A backward pass goes from an allocation under autograd's engine to the next one that is not. What
// it allocates and frees again within is its temporary; what outlives it is a gradient. Stacks show
// the engine where they have native frames; allocations without a stack say nothing.
class BackwardPasses {
 public:
  // All are kept by reference and must outlive this.
  BackwardPasses(const Recording& recording, const Trace& trace, const Replay& replay);

  // Of an allocation, a row of the trace. Also false where the recording ends within the pass.
  [[nodiscard]] bool IsTemporary(std::uint32_t event) const;

 private:
  const Replay& replay_;
  std::span<const Event> events_;
  std::vector<char> backward_;       // per stack; empty when none is of a backward pass
  std::vector<std::uint32_t> ends_;  // first allocations after passes, ascending
  std::uint32_t last_ = 0;           // the last allocation that has a stack
};

}  // namespace memtool
