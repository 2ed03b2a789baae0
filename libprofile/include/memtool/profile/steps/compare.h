// Two histories, step by step: which steps correspond, which of their allocations do, and what
// differs in bytes. Alignment only chooses moments and pairs: every byte is an exact difference of
// two sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "memtool/profile/align/align.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/steps/steps.h"

namespace memtool {

// One device of one recording; both outlive what is made of them.
struct HistorySide {
  const HistoryIndex* index = nullptr;
  const Trace* trace = nullptr;
};

// How many allocations could have a partner, in any order, of the side that has fewer of them.
// Those without a stack have none here.
struct KeyShare {
  KeyLevel level = KeyLevel::kFrames;
  std::uint64_t pairs = 0;
  std::uint64_t smaller = 0;

  [[nodiscard]] double share() const {
    return smaller == 0 ? 0 : static_cast<double>(pairs) / static_cast<double>(smaller);
  }
  // What it takes to correspond: the less of a stack is compared, the more is alike by chance. Two
  // authors' models share a third of `forward` in `model.py`, and any two share operations.
  [[nodiscard]] double least() const {
    return level == KeyLevel::kFrames ? 0.30 : level == KeyLevel::kInnermost ? 0.50 : 0.80;
  }
  [[nodiscard]] bool enough() const { return share() >= least(); }
};

// Allocations of two steps. Bytes: of the changed, the new sizes less the old ones.
// changed_bytes + added_bytes - removed_bytes is the difference of what the steps allocate.
struct AllocationChange {
  std::uint64_t matched = 0;
  std::uint64_t changed = 0;  // of the matched: those of another size
  std::uint64_t added = 0;
  std::uint64_t removed = 0;
  std::int64_t changed_bytes = 0;
  std::int64_t added_bytes = 0;
  std::int64_t removed_bytes = 0;
};

// What is live at the peaks of two steps: `now` less `base` is the sum of the rest, where removed
// bytes count as less. Bytes.
struct PeakChange {
  std::int64_t base_event = -1;
  std::int64_t now_event = -1;
  std::int64_t base = 0;
  std::int64_t now = 0;
  AllocationChange live;    // allocated in the steps; matched where both are live
  std::int64_t held = 0;    // partners of which only one is live: held longer, less freed earlier
  std::int64_t before = 0;  // what was there before the steps

  [[nodiscard]] std::int64_t delta() const;
};

struct PairedStep {
  std::size_t base = 0;  // rows of HistoryComparison::base_steps and now_steps
  std::size_t now = 0;
  AllocationChange all;
  PeakChange peak;
  bool complete = true;  // false: stretches were too different to be aligned
};

// Which kind of change a live allocation is part of, see PeakChange.
// Unmatched: added or removed.
enum class ChangeKind : std::uint8_t { kBefore, kChanged, kUnmatched, kHeld };

class HistoryComparison {
 public:
  // `search`: how steps are found on both sides.
  HistoryComparison(HistorySide base, HistorySide now, const StepSearch& search = {});

  // Of every level that was tried, in order; the last is the one in use, or, when it is not
  // enough(), none was, and there are no steps.
  [[nodiscard]] const std::vector<KeyShare>& ladder() const { return ladder_; }
  [[nodiscard]] bool corresponds() const { return ladder_.back().enough(); }

  // Steps, or the whole history as the only one where there are none.
  [[nodiscard]] const ProgramSteps& base_steps() const { return base_.steps; }
  [[nodiscard]] const ProgramSteps& now_steps() const { return now_.steps; }
  [[nodiscard]] const std::vector<PairedStep>& pairs() const { return pairs_; }

  // What a block that is live at the peak of the step is part of, on either side. `pair`: one of
  // pairs(); `event`: of the trace, of its allocation; none = from before the recording.
  [[nodiscard]] ChangeKind KindInBase(const PairedStep& pair,
                                      std::optional<std::uint32_t> event) const;
  [[nodiscard]] ChangeKind KindInNow(const PairedStep& pair,
                                     std::optional<std::uint32_t> event) const;

 private:
  struct Side {
    HistorySide history;
    TraceAllocations allocations;
    ProgramSteps steps;
  };
  // Partners per allocation of a step, by row within the steps: from base to now, and back.
  struct Partners {
    std::vector<std::uint32_t> of_base;
    std::vector<std::uint32_t> of_now;
    bool complete = true;
  };

  void ChooseLevel();
  void FindSides(KeyLevel level, const StepSearch& search);
  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> PairSteps() const;
  std::shared_ptr<const Partners> AlignSteps(const ProgramStep& base, const ProgramStep& now);
  Alignment AlignKeys(std::span<const std::uint32_t> base, std::span<const std::uint32_t> now);
  void Measure(PairedStep& pair, const Partners& partners) const;
  void MeasurePeak(PairedStep& pair, const Partners& partners) const;
  static std::int64_t SizeOf(const Side& side, const ProgramStep& step, std::size_t row);
  static bool IsLive(const Side& side, const ProgramStep& step, std::size_t row);
  static ChangeKind GetKind(const Side& side, const ProgramStep& step,
                            const std::vector<std::uint32_t>& partners, const Side& other,
                            const ProgramStep& other_step, std::optional<std::uint32_t> event);

  Side base_;
  Side now_;
  std::vector<KeyShare> ladder_;
  std::vector<PairedStep> pairs_;
  std::vector<std::shared_ptr<const Partners>> partners_;  // of pairs_
  // By shapes: steps of equal ones are aligned once.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<const Partners>> known_;
  double work_left_ = 0;
};

}  // namespace memtool
