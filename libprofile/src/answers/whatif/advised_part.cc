#include "answers/whatif/advised_part.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "memtool/profile/advise/program.h"
#include "memtool/profile/advise/step_edits.h"
#include "memtool/profile/base/arithmetic.h"
#include "replay/stack_roles.h"

namespace memtool {

namespace {

using advise::Phase;
using whatif::Request;
using Rows = std::vector<Request>;

class Cutter {
 public:
  Cutter(const HistoryIndex& index, const Trace& trace, whatif::Requests requests)
      : index_(index),
        trace_(trace),
        events_(GetEvents(index.recording(), trace)),
        phases_(advise::PhasesOf(index.recording())),
        part_{.requests = std::move(requests)} {}

  EditedPart Cut() {
    Rows& rows = part_.requests.rows;
    const auto failed = std::find_if(rows.begin(), rows.end(), [](const Request& request) {
      return request.kind == Request::Kind::kFailed;
    });
    if (failed == rows.end()) {
      return std::move(part_);
    }
    const auto end = EndOfSteps(failed);
    if (end != rows.end()) {
      part_.cut = true;
      rows.erase(end, rows.end());
    } else if (PhaseOf(*failed) == Phase::kOptimizer) {
      const Request of_step = *failed;
      part_.cut = true;
      rows.erase(failed, rows.end());
      CompleteState(of_step);
    } else {
      part_.failed_early = true;
    }
    return std::move(part_);
  }

 private:
  [[nodiscard]] Phase PhaseOf(const Request& request) const {
    const StackId stack = events_[request.event].stack;
    return stack.valid() ? phases_[stack.value()] : Phase::kBackward;
  }

  // The first allocation of a forward behind the last step of an optimizer before `failed`; the end
  // of all rows when no step was complete.
  [[nodiscard]] Rows::const_iterator EndOfSteps(Rows::const_iterator failed) const {
    const Rows& rows = part_.requests.rows;
    bool forward = false;
    for (auto row = failed; row != rows.begin();) {
      --row;
      if (row->kind != Request::Kind::kAllocate) {
        continue;
      }
      if (PhaseOf(*row) == Phase::kOptimizer && forward) {
        return std::find_if(row, failed, [this](const Request& request) {
          return request.kind == Request::Kind::kAllocate && PhaseOf(request) == Phase::kForward;
        });
      }
      forward |= PhaseOf(*row) == Phase::kForward;
    }
    return rows.end();
  }

  // As many of each gradient's size as the optimizer keeps per parameter, less those that are
  // there.
  void CompleteState(const Request& of_step) {
    std::map<std::int64_t, std::int64_t> missing;
    const std::int64_t per_parameter = PerParameter(of_step);
    const advise::Program program = advise::MakeProgram(index_, trace_, part_.requests);
    for (const advise::Block& block : program.blocks) {
      if (block.freed == advise::kNever && block.phase == Phase::kBackward) {
        missing[block.size] += per_parameter;
      }
    }
    for (const advise::Block& block : program.blocks) {
      if (block.freed == advise::kNever && block.phase == Phase::kOptimizer) {
        const auto of_size = missing.find(block.size);
        if (of_size != missing.end()) {
          of_size->second = std::max<std::int64_t>(of_size->second - 1, 0);
        }
      }
    }
    for (const auto& [size, count] : missing) {
      for (std::int64_t i = 0; i < count; ++i) {
        Request state = of_step;
        state.kind = Request::Kind::kAllocate;
        state.size = size;
        state.tag = part_.requests.tags++;
        part_.requests.rows.push_back(state);
      }
    }
  }

  // By the name of the optimizer's file; Adam where that says nothing.
  [[nodiscard]] std::int64_t PerParameter(const Request& of_step) const {
    const Recording& recording = index_.recording();
    for (const LocationId location : recording.Stack(events_[of_step.event].stack)) {
      for (const Line& line : recording.Lines(recording.At(location))) {
        const std::string_view file =
            line.function.valid()
                ? recording.Text(recording.functions[line.function.value()].filename)
                : std::string_view();
        if (const std::uint32_t states = StatesPerParameter(file); states > 0) {
          return states;
        }
      }
    }
    constexpr std::int64_t kAdam = 2;
    return kAdam;
  }

  const HistoryIndex& index_;
  const Trace& trace_;
  std::span<const Event> events_;
  std::vector<Phase> phases_;
  EditedPart part_;
};

// After which operation most is live.
advise::Time PeakOf(const advise::Program& program) {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  advise::Time at = 0;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const advise::Operation& operation = program.operations[i];
    const std::int64_t size = program.blocks[operation.block].size;
    if (operation.kind == Request::Kind::kAllocate) {
      live = RunningAdd(live, size);
    } else if (operation.kind == Request::Kind::kFreeCompleted) {
      live = SaturatingSubtract(live, size);
    }
    if (live > peak) {
      peak = live;
      at = static_cast<advise::Time>(i);
    }
  }
  return at;
}

}  // namespace

EditedPart ChoosePart(const HistoryIndex& index, const Trace& trace, whatif::Requests requests) {
  EditedPart part = Cutter(index, trace, std::move(requests)).Cut();
  constexpr std::size_t kLong = 300'000;  // rows
  constexpr std::size_t kPasses = 3;
  if (part.requests.rows.size() < kLong) {
    return part;
  }
  const advise::Program program = advise::MakeProgram(index, trace, part.requests);
  const auto passes = advise::FindPasses(program);
  if (program.operations.size() != part.requests.rows.size() || passes.size() <= kPasses) {
    return part;
  }
  const auto behind =
      static_cast<std::size_t>(std::upper_bound(passes.begin(), passes.end(), PeakOf(program),
                                                [](advise::Time time, const advise::Pass& one) {
                                                  return time < one.begin;
                                                }) -
                               passes.begin());
  const std::size_t first = behind < 2 ? 0 : passes[behind - 2].begin;
  const std::size_t last =
      behind + 1 < passes.size() ? passes[behind + 1].begin : program.operations.size();
  part.requests = whatif::Between(part.requests, first, last);
  return part;
}

}  // namespace memtool
