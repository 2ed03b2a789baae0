#include "memtool/profile/advise/program.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/steps/phases.h"

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

// Functions of torch/utils/checkpoint.py that compute a forward again.
bool IsRecompute(const Recording& recording, const Function& function) {
  constexpr std::array<std::string_view, 4> kNames{"unpack", "unpack_hook", "recompute_fn",
                                                   "backward"};
  const std::string_view file = recording.Text(function.filename);
  const std::string_view name = recording.Text(function.name);
  const std::size_t slash = file.find_last_of("/\\");
  return file.substr(slash == std::string_view::npos ? 0 : slash + 1) == "checkpoint.py" &&
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool IsAllocation(const Operation& operation) {
  return operation.kind == Kind::kAllocate;
}

void FindTimes(Program& program) {
  for (Block& block : program.blocks) {
    block.freed = kNever;
    block.made = block.phase == Phase::kBefore ? 0 : kNever;
  }
  program.next_backward.assign(program.operations.size() + 1, kNever);
  for (std::size_t i = program.operations.size(); i-- > 0;) {
    const Operation& operation = program.operations[i];
    const auto at = static_cast<Time>(i);
    program.next_backward[i] = program.next_backward[i + 1];
    if (IsAllocation(operation)) {
      Block& block = program.blocks[operation.block];
      block.made = at;
      const bool backward = block.phase == Phase::kBackward || block.phase == Phase::kRecompute;
      program.next_backward[i] = backward ? at : program.next_backward[i];
    } else if (operation.kind == Kind::kFreeRequested || operation.kind == Kind::kFreeCompleted) {
      program.blocks[operation.block].freed = at;
    }
  }
}

}  // namespace

bool Program::Has(Phase phase) const {
  return std::any_of(blocks.begin(), blocks.end(),
                     [phase](const Block& block) { return block.phase == phase; });
}

std::vector<Phase> PhasesOf(const Recording& recording) {
  const StackPhases phases = PhasesOfStacks(recording);
  std::vector<char> again(recording.functions.size(), 0);
  for (std::size_t i = 0; i < again.size(); ++i) {
    again[i] = IsRecompute(recording, recording.functions[i]) ? 1 : 0;
  }
  std::vector<Phase> result;
  result.reserve(recording.stack_count());
  for (std::uint32_t row = 0; row < recording.stack_count(); ++row) {
    const StackPhase& phase = phases.stacks[row];
    if (phase.phase == StepPhase::kOptimizer) {
      result.push_back(Phase::kOptimizer);
      continue;
    }
    bool recomputes = false;
    for (const LocationId location : recording.Stack(StackId(row))) {
      for (const Line& line : recording.Lines(recording.At(location))) {
        recomputes |= line.function.valid() && again[line.function.value()] != 0;
      }
    }
    const bool backward = phase.phase == StepPhase::kBackward || !phase.python;
    result.push_back(recomputes ? Phase::kRecompute
                     : backward ? Phase::kBackward
                                : Phase::kForward);
  }
  return result;
}

Program MakeProgram(const HistoryIndex& index, const Trace& trace,
                    const whatif::Requests& requests) {
  const std::vector<Phase> phases = PhasesOf(index.recording());
  const auto events = GetEvents(index.recording(), trace);
  Program program;
  std::vector<std::uint32_t> current(requests.tags, kNever);
  for (const whatif::BaseBlock& block : requests.blocks) {
    if (block.laid.tag != whatif::CachingAllocator::kFreeTag) {
      current[block.laid.tag] = static_cast<std::uint32_t>(program.blocks.size());
      program.blocks.push_back({.size = block.requested, .stack = block.stack});
    }
  }
  program.base_blocks = program.blocks.size();
  program.operations.reserve(requests.rows.size());
  for (const whatif::Request& request : requests.rows) {
    Operation operation{.kind = request.kind, .event = request.event};
    if (request.kind == Kind::kAllocate || request.kind == Kind::kFailed) {
      const StackId stack = events[request.event].stack;
      current[request.tag] = operation.block = static_cast<std::uint32_t>(program.blocks.size());
      program.blocks.push_back({.size = request.size,
                                .stack = stack,
                                .owner = request.owner,
                                .stream = request.stream,
                                .phase = stack.valid() ? phases[stack.value()] : Phase::kBackward});
    } else if (request.kind != Kind::kEmptyCache) {
      if (current[request.tag] == kNever) {
        continue;  // of what lies in no segment that is known: the model has no such block either
      }
      operation.block = current[request.tag];
    }
    program.operations.push_back(operation);
  }
  FindTimes(program);
  return program;
}

namespace {

// Tags of what was there before, as far as it is there; the others' are given as they are made.
class Tags {
 public:
  Tags(const Program& program, whatif::Requests& requests)
      : of_(program.blocks.size()), next_(requests.tags) {
    std::vector<char> gone(requests.tags, 0);
    std::uint32_t base = 0;
    for (whatif::BaseBlock& block : requests.blocks) {
      if (block.laid.tag == whatif::CachingAllocator::kFreeTag) {
        continue;
      }
      const std::int64_t size = program.blocks[base].size;
      gone[block.laid.tag] = program.base_gone.empty() ? char{0} : program.base_gone[base];
      requests.base_live =
          RunningAdd(requests.base_live, SaturatingSubtract(size, block.requested));
      block.requested = size;
      of_[base++] = block.laid.tag;
    }
    if (!program.base_gone.empty()) {
      whatif::RemoveBase(requests, gone);
    }
  }

  void Give(std::uint32_t block) {
    const bool again = !unused_.empty();
    of_[block] = again ? unused_.back() : next_++;
    if (again) {
      unused_.pop_back();
    }
  }
  void TakeBack(std::uint32_t block) { unused_.push_back(of_[block]); }
  [[nodiscard]] std::uint32_t Of(std::uint32_t block) const { return of_[block]; }
  [[nodiscard]] std::uint32_t count() const { return next_; }

 private:
  std::vector<std::uint32_t> of_;  // per block
  std::vector<std::uint32_t> unused_;
  std::uint32_t next_;
};

}  // namespace

whatif::Requests ToRequests(const Program& program, const whatif::Requests& recorded) {
  whatif::Requests requests = recorded;
  Tags tags(program, requests);
  requests.rows.clear();
  requests.rows.reserve(program.operations.size());
  for (const Operation& operation : program.operations) {
    whatif::Request request{.event = operation.event, .kind = operation.kind};
    if (operation.kind != Kind::kEmptyCache) {
      const Block& block = program.blocks[operation.block];
      if (IsAllocation(operation) || operation.kind == Kind::kFailed) {
        tags.Give(operation.block);
      }
      request.tag = tags.Of(operation.block);
      request.size = block.size;
      request.owner = IsAllocation(operation) ? block.owner : 0;
      request.stream = block.stream;
      if (operation.kind == Kind::kFreeCompleted || operation.kind == Kind::kFailed) {
        tags.TakeBack(operation.block);
      }
    }
    requests.rows.push_back(request);
  }
  requests.tags = tags.count();
  return requests;
}

Splice::Splice(const Program& program)
    : program_(program),
      blocks_(program.blocks),
      dropped_(program.blocks.size(), 0),
      moved_free_(program.blocks.size(), kKept) {}

std::uint32_t Splice::Make(Time at, Block block) {
  const auto row = static_cast<std::uint32_t>(blocks_.size());
  blocks_.push_back(block);
  dropped_.push_back(0);
  moved_free_.push_back(kKept);
  added_.push_back({at, {.kind = Kind::kAllocate, .block = row}});
  return row;
}

void Splice::Free(Time at, std::uint32_t block) {
  added_.push_back({at, {.kind = Kind::kFreeCompleted, .block = block}});
}

void Splice::MoveFree(std::uint32_t block, Time at) {
  std::uint32_t& moved = moved_free_[block];
  if (moved == kKept) {
    moved = static_cast<std::uint32_t>(added_.size());
    Free(at, block);
  } else {
    added_[moved].at = std::max(added_[moved].at, at);
  }
}

void Splice::Drop(std::uint32_t block) {
  dropped_[block] = 1;
}

Program Splice::Finish() {
  std::stable_sort(added_.begin(), added_.end(),  // its rows are looked up no more
                   [](const Added& a, const Added& b) { return a.at < b.at; });
  Program changed;
  changed.blocks = std::move(blocks_);
  changed.base_blocks = program_.base_blocks;
  changed.base_gone = program_.base_gone;
  for (std::size_t row = 0; row < program_.base_blocks; ++row) {
    if (dropped_[row] != 0) {
      changed.base_gone.resize(program_.base_blocks, 0);
      changed.base_gone[row] = 1;
    }
  }
  changed.operations.reserve(program_.operations.size() + added_.size());
  auto next = added_.begin();
  std::uint32_t event = 0;
  const auto add_until = [&](std::size_t at) {
    for (; next != added_.end() && next->at <= at; ++next) {
      if (dropped_[next->operation.block] == 0 && next->at != kNever) {
        changed.operations.push_back(next->operation);
        changed.operations.back().event = event;
      }
    }
  };
  for (std::size_t i = 0; i < program_.operations.size(); ++i) {
    const Operation& operation = program_.operations[i];
    event = operation.event;
    add_until(i);
    const bool of_block = operation.kind != Kind::kEmptyCache;
    const bool frees =
        operation.kind == Kind::kFreeRequested || operation.kind == Kind::kFreeCompleted;
    if (of_block &&
        (dropped_[operation.block] != 0 || (frees && moved_free_[operation.block] != kKept))) {
      continue;
    }
    changed.operations.push_back(operation);
  }
  add_until(kNever);
  FindTimes(changed);
  return changed;
}

}  // namespace memtool::advise
