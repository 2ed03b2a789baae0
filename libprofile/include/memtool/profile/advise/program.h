// A recording's requests as a program that can be changed: allocations and frees in their order,
// each allocation with what the program was doing. Changes to code become changes of it, which a
// replay through the allocator then tries (docs: memtool-advise(1)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool::advise {

// What the program was doing when it allocated.
enum class Phase : std::uint8_t {
  kBefore,  // the recording began
  kForward,
  kBackward,
  kRecompute,  // of forward, within backward: already checkpointed
  kOptimizer
};

// Wrong variants of single rules, for tests, which have to notice each.
struct Rules {
  bool last_is_output = false;        // the last allocation of a call is what it returns
  bool forgets_input = false;         // what goes into a checkpoint is freed as before
  bool frees_at_once = false;         // what it gives up, at the next event
  bool recomputes_twice = false;      // what is computed again is kept beside what it stands for
  bool state_from_gradients = false;  // two values per gradient besides the state that is seen
};

// A time: how many operations came before.
using Time = std::uint32_t;
inline constexpr Time kNever = UINT32_MAX;

struct Block {
  std::int64_t size = 0;  // requested bytes
  StackId stack;          // may be none
  Time made = 0;          // of what was there before: 0; of what was left out: kNever
  Time freed = kNever;
  std::uint32_t owner = 0;  // of its pool
  std::uint16_t stream = 0;
  Phase phase = Phase::kBefore;
};

struct Operation {
  whatif::Request::Kind kind = whatif::Request::Kind::kAllocate;
  std::uint32_t block = 0;  // row of Program::blocks; of others than allocations and frees a size
  std::uint32_t event = 0;  // of the trace, or the one beside which it was added
};

struct Program {
  std::vector<Block> blocks;  // first those that were there before
  std::vector<Operation> operations;
  std::size_t base_blocks = 0;
  std::vector<char> base_gone;  // per block that was there before: left out; empty: none is
  // Per operation: the first one at or after it that allocates in backward; kNever for none.
  std::vector<Time> next_backward;

  [[nodiscard]] bool Has(Phase phase) const;
};

// What each stack was doing.
std::vector<Phase> PhasesOf(const Recording& recording);

// `requests`: CollectRequests() of the trace.
Program MakeProgram(const HistoryIndex& index, const Trace& trace,
                    const whatif::Requests& requests);
// The changed program's requests; `recorded` has what was there before.
whatif::Requests ToRequests(const Program& program, const whatif::Requests& recorded);

// Collects changes of a program, and makes another one of them. Times are those of the program.
class Splice {
 public:
  explicit Splice(const Program& program);

  // An allocation, or a free, before the operation at `at`; those of equal times keep the order in
  // which they were asked for.
  std::uint32_t Make(Time at, Block block);
  void Free(Time at, std::uint32_t block);
  // Of a recorded block: freed at another time, or never. Of several the latest counts.
  void MoveFree(std::uint32_t block, Time at);
  // As if it had never been allocated.
  void Drop(std::uint32_t block);
  void Resize(std::uint32_t block, std::int64_t size) { blocks_[block].size = size; }
  [[nodiscard]] Program Finish();

 private:
  static constexpr std::uint32_t kKept = UINT32_MAX;
  struct Added {
    Time at = 0;
    Operation operation;
  };
  const Program& program_;
  std::vector<Block> blocks_;
  std::vector<Added> added_;
  std::vector<char> dropped_;              // per block: nothing of it is kept
  std::vector<std::uint32_t> moved_free_;  // per block: kKept, or its row of added_
};

}  // namespace memtool::advise
