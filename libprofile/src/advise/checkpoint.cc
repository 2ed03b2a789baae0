#include "memtool/profile/advise/checkpoint.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

bool IsFree(Kind kind) {
  return kind == Kind::kFreeRequested || kind == Kind::kFreeCompleted;
}

class GroupEditor {
 public:
  GroupEditor(const Program& program, const CheckpointQuery& query)
      : program_(program),
        query_(query),
        splice_(program),
        copies_(program.blocks.size(), kNever),
        dropped_(program.blocks.size(), 0) {
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      if (program.operations[i].kind == Kind::kAllocate) {
        allocations_.push_back(static_cast<Time>(i));
      }
    }
  }

  // `before`: the call before the group, where the group follows it.
  void Add(std::span<const Call> group, const Call* before) {
    FindDropped(group);
    if (first_free_ == kNever) {
      return;  // nothing is kept for a backward
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      Forward(group[i], i + 1 < group.size() ? &group[i + 1] : nullptr);
    }
    Recompute(group);
    KeepInput(group, before);
  }

  Checkpointed Finish() {
    result_.program = splice_.Finish();
    return std::move(result_);
  }

 private:
  // All that is saved, but not what the group returns.
  void FindDropped(std::span<const Call> group) {
    first_free_ = kNever;
    last_free_ = 0;
    for (const Call& call : group) {
      result_.kept += call.kept.size();
      for (const std::uint32_t row : call.saved) {
        const auto& outputs = group.back().outputs;
        if (std::find(outputs.begin(), outputs.end(), row) != outputs.end()) {
          continue;
        }
        dropped_[row] = 1;
        first_free_ = std::min(first_free_, program_.blocks[row].freed);
        last_free_ = std::max(last_free_, program_.blocks[row].freed);
      }
    }
  }

  // What the next call of the group takes lives to that one's end.
  void Forward(const Call& call, const Call* next) {
    for (const std::uint32_t row : call.saved) {
      if (dropped_[row] == 0) {
        continue;
      }
      const bool is_taken = next != nullptr && std::find(call.outputs.begin(), call.outputs.end(),
                                                         row) != call.outputs.end();
      splice_.MoveFree(row, is_taken       ? next->end
                            : query_.early ? std::min(Soon(row), call.end)
                                           : call.end);
    }
  }

  // Three allocations after that of `row`.
  [[nodiscard]] Time Soon(std::uint32_t row) const {
    constexpr std::ptrdiff_t kLater = 3;
    if (query_.rules.frees_at_once) {
      return program_.blocks[row].made + 1;
    }
    const auto at =
        std::lower_bound(allocations_.begin(), allocations_.end(), program_.blocks[row].made);
    return allocations_.end() - at > kLater ? at[kLater] + 1 : kNever - 1;
  }

  // The forward again, before the operator of the backward pass whose end frees the first of what
  // it makes.
  void Recompute(std::span<const Call> group) {
    Time at = first_free_;
    while (at > 0 && !IsFree(program_.operations[at - 1].kind)) {
      --at;
    }
    for (const Call& call : group) {
      for (const std::uint32_t row : call.blocks) {
        copies_[row] = kNever - 1;  // of the group, not yet made
      }
    }
    for (Time i = group.front().begin; i < group.back().end; ++i) {
      Again(program_.operations[i], at);
    }
    for (const Call& call : group) {
      for (const std::uint32_t row : call.blocks) {
        LiveOn(row, group.back().end, at);
      }
    }
  }

  void Again(const Operation& operation, Time at) {
    if (operation.kind == Kind::kEmptyCache || copies_[operation.block] == kNever) {
      return;
    }
    if (operation.kind == Kind::kAllocate) {
      Block copy = program_.blocks[operation.block];
      copy.phase = Phase::kRecompute;
      copies_[operation.block] = splice_.Make(at, copy);
      result_.computed_again = SaturatingAdd(result_.computed_again, copy.size);
    } else if (operation.kind == Kind::kFreeCompleted) {
      splice_.Free(at, copies_[operation.block]);
    }
  }

  // What was saved, until it was freed; what the call returns a second time, until the end of the
  // sequence, or of the backward that a reentrant one runs inside.
  void LiveOn(std::uint32_t row, Time end, Time at) {
    const Time freed = program_.blocks[row].freed;
    const std::uint32_t copy = std::exchange(copies_[row], kNever);
    if (dropped_[row] != 0) {
      splice_.Free(freed, copy);
    } else if (freed >= end && !query_.rules.recomputes_twice) {
      splice_.Free(query_.reentrant ? last_free_ + 1 : at, copy);
    }
  }

  // What goes in is kept instead.
  void KeepInput(std::span<const Call> group, const Call* before) {
    if (query_.rules.forgets_input) {
      return;
    }
    std::vector<std::uint32_t> inputs;
    if (before != nullptr) {
      inputs = before->outputs;
      inputs.insert(inputs.end(), before->escaped.begin(), before->escaped.end());
    } else if (const auto newest = Newest(group.front().begin)) {
      inputs.push_back(*newest);
    }
    for (const std::uint32_t row : inputs) {
      if (program_.blocks[row].freed <= last_free_ && dropped_[row] == 0) {
        splice_.MoveFree(row, last_free_ + 1);
      }
    }
  }

  // The newest of forward that is alive then.
  [[nodiscard]] std::optional<std::uint32_t> Newest(Time at) const {
    constexpr std::int64_t kMin = std::int64_t{1} << 20U;
    constexpr std::ptrdiff_t kReach = 256;  // allocations
    const auto end = std::lower_bound(allocations_.begin(), allocations_.end(), at);
    for (auto i = end; i != allocations_.begin() && end - i < kReach;) {
      const std::uint32_t row = program_.operations[*--i].block;
      const Block& block = program_.blocks[row];
      if (block.phase == Phase::kForward && block.size >= kMin && block.freed >= at) {
        return row;
      }
    }
    return std::nullopt;
  }

  const Program& program_;
  const CheckpointQuery& query_;
  Splice splice_;
  std::vector<std::uint32_t> copies_;  // per block: the one made again; kNever: none
  std::vector<char> dropped_;
  std::vector<Time> allocations_;
  Time first_free_ = kNever;  // of the group
  Time last_free_ = 0;
  Checkpointed result_;
};

// Calls `take` with each group that is checkpointed, and the call that it follows, if it does.
template <class Take>
void ForEachGroup(std::span<const Call> calls, const CheckpointQuery& query, const Take& take) {
  std::size_t group = 0;
  for (std::size_t begin = 0; begin < calls.size(); ++group) {
    std::size_t end = begin + 1;
    while (end < calls.size() && end - begin < query.group && calls[end].follows) {
      ++end;
    }
    group = calls[begin].follows ? group : 0;
    if (group % query.every == 0) {
      take(calls.subspan(begin, end - begin), calls[begin].follows ? &calls[begin - 1] : nullptr);
    }
    begin = end;
  }
}

// Whether it keeps anything for a backward but what it returns.
bool Saves(std::span<const Call> group) {
  return std::any_of(group.begin(), group.end(), [&group](const Call& call) {
    return &call == &group.back() ? call.saved.size() > call.outputs.size() : !call.saved.empty();
  });
}

}  // namespace

std::size_t CoveredCalls(std::span<const Call> calls, const CheckpointQuery& query) {
  std::size_t covered = 0;
  ForEachGroup(calls, query, [&covered](std::span<const Call> group, const Call* /*before*/) {
    covered += Saves(group) ? group.size() : 0;
  });
  return covered;
}

Checkpointed Checkpoint(const Program& program, std::span<const Call> calls,
                        const CheckpointQuery& query) {
  GroupEditor editor(program, query);
  ForEachGroup(calls, query, [&editor](std::span<const Call> group, const Call* before) {
    editor.Add(group, before);
  });
  return editor.Finish();
}

}  // namespace memtool::advise
