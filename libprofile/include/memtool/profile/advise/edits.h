// Changes of a program as people write them: "checkpoint:model.py:68,group=2", "accumulate=2",
// "optimizer=8bit", "expandable_segments:True"; several are joined by " + ".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/advise/calls.h"
#include "memtool/profile/advise/operators.h"
#include "memtool/profile/advise/program.h"
#include "memtool/profile/advise/step_edits.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/whatif/allocator_settings.h"

namespace memtool::advise {

struct Edit {
  // In the order in which they are made.
  enum class Kind : std::uint8_t {
    kDrop,
    kNextStep,
    kForeachOff,
    kOptimizer,
    kShard,
    kBatch,
    kAccumulate,
    kAutocast,
    kChunkLoss,
    kCheckpoint,
    kSettings
  };
  Kind kind = Kind::kCheckpoint;
  std::string text;   // as written
  std::string where;  // kCheckpoint: function, or "file.py:line"; kDrop: regular expression
  OptimizerChange optimizer = OptimizerChange::kSgd;  // of kOptimizer
  std::uint32_t count = 1;                            // kShard, kBatch, kAccumulate, kChunkLoss
  std::uint32_t group = 1;                            // of kCheckpoint, as the next two
  std::uint32_t every = 1;
  bool reentrant = false;
  whatif::AllocatorSettings settings;  // kSettings
};
using Edits = std::vector<Edit>;

// Errors: kUsage, with the word that is not known and all that are.
Result<Edits> ParseEdits(std::string_view text);
// "accumulate=2 + checkpoint:model.py:68"
std::string ToText(std::span<const Edit> edits);

// What edits make of a program.
struct Changed {
  Program early;                // what checkpoints give up is freed soon,
  std::optional<Program> late;  // or late, where that differs
  std::optional<whatif::AllocatorSettings> settings;
  std::size_t calls = 0;            // of the recording, that are checkpointed
  std::int64_t computed_again = 0;  // bytes of forward, of these:
  std::int64_t forward = 0;
  std::optional<Site> site;               // of the checkpoint
  std::int64_t state_gone = 0;            // bytes of optimizer state that are elsewhere
  std::uint32_t state_per_parameter = 0;  // 0: not known
};

// One trace of a recording, to be changed again and again.
class Editor {
 public:
  // All must outlive it.
  Editor(const HistoryIndex& index, const Trace& trace, const whatif::Requests& requests);

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Sites& sites() const { return sites_; }
  [[nodiscard]] const Operators& operators() const { return operators_; }
  // Where checkpoints could be, those that keep most first: sites whose calls repeat, each once.
  struct Candidate {
    std::uint32_t site = 0;
    std::size_t calls = 0;
    bool follow = false;  // each other, so that groups of them can be made
    std::string where;    // "model.py:68": what `checkpoint:` takes
  };
  [[nodiscard]] std::vector<Candidate> Candidates(std::size_t most) const;

  // Errors: kUnsupported, when the recording has nothing that such an edit changes; kUsage for a
  // place that it does not have.
  [[nodiscard]] Result<Changed> Apply(std::span<const Edit> edits) const;

 private:
  [[nodiscard]] Result<Program> Change(const Program& program, const Edit& edit,
                                       Changed& changed) const;
  [[nodiscard]] Result<void> Checkpoints(const Edit& edit, Changed& changed) const;
  [[nodiscard]] std::optional<std::uint32_t> FindSite(std::string_view where) const;

  const HistoryIndex& index_;
  Program program_;
  Sites sites_;
  Operators operators_;
};

}  // namespace memtool::advise
