// What was allocated before a recording began, by the sizes that a training step shows.
//
// Such blocks have no stack. But a gradient has its parameter's size, an optimizer keeps a known
// number of blocks of each parameter's size, and what a step frees and allocates anew is the
// optimizer's. Where the sizes of all blocks together decide it, a block is called by its kind;
// which of several equal ones is which changes no sum. Where they do not, it stays unknown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {

enum class BaseKind : std::uint8_t { kUnknown, kParameter, kGradient, kOptimizerState, kWorkspace };

// The label that blocks of a known kind have in a recording of a moment, and its values.
inline constexpr std::string_view kUseKey = "use";
std::string_view BaseKindName(BaseKind kind);

// cuBLAS's workspace of PyTorch has a size that nothing else has: 2 of 4 MiB and 8 of 16 KiB for
// each handle and stream; hipBLASLt's is 76 MiB. On Hopper and later it is 32 MiB, as other things
// are: there only a stack tells.
bool IsWorkspaceSize(std::int64_t size);

// What the kinds of the base rest on.
struct BaseKindEvidence {
  // What shows the sizes of gradients.
  enum class Basis : std::uint8_t {
    kNone,         // nothing, or not enough of it
    kOutlive,      // what a backward pass allocates and leaves
    kAccumulated,  // what it adds to gradients that are there already
    kMultiples,    // that all sizes are there an equal number of times; passes leave nothing
  };
  // Medium: it is what the sizes say, and other programs could have left the same.
  enum class Confidence : std::uint8_t { kNone, kMedium, kHigh };

  Basis basis = Basis::kNone;
  std::uint64_t gradients = 0;  // how many there are
  std::uint64_t matched = 0;    // and of how many the base has a block of the size
  Confidence parameters = Confidence::kNone;
  std::uint32_t states = 0;        // blocks of the optimizer for each parameter
  bool wide = false;               // they have twice its size: 32 bits beside 16
  std::uint64_t replaced = 0;      // blocks of the base that the optimizer itself freed
  std::uint32_t other_copies = 0;  // whole copies of all parameters beside these: unknown
  Confidence optimizer = Confidence::kNone;
  std::string optimizer_name{};  // as the recording has it; empty where none is
};

class BaseKinds : public BaseKindEvidence {
 public:
  // One pass over the events and one over the blocks of the base, and sorting these.
  BaseKinds(const Recording& recording, const Trace& trace, const Replay& replay);

  // kUnknown for what was not there before the recording.
  [[nodiscard]] BaseKind Of(const LiveBlock& block, const Trace& trace) const;

 private:
  friend class BaseAnalysis;
  // By event of the trace (a free) and by row of AllocatorState::blocks, ascending.
  std::vector<std::pair<std::uint32_t, BaseKind>> freed_;
  std::vector<std::pair<std::uint32_t, BaseKind>> kept_;
};

}  // namespace memtool
