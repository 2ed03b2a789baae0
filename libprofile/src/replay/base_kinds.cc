#include "memtool/profile/replay/base_kinds.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "replay/base_sizes.h"
#include "replay/stack_roles.h"

namespace memtool {

class BaseAnalysis {
 public:
  BaseAnalysis(const Recording& recording, const Trace& trace, const Replay& replay,
               BaseKinds& result)
      : recording_(recording), sizes_(recording, trace, replay), result_(result) {
    Decide();
    Assign();
  }

 private:
  // Whether the gradients' sizes are those of the base, which `copies` of them are in.
  bool Match(std::uint32_t copies) {
    result_.gradients = result_.matched = 0;
    std::size_t different = 0;
    for (const BaseSize& size : sizes_.sizes()) {
      const std::uint32_t there = std::min(size.gradients, size.standing);
      result_.gradients += size.gradients;
      result_.matched += there;
      different += there != 0 ? 1 : 0;
    }
    // Where the recording has as many that are no gradients, these may be the parameters.
    if (!IsShare(result_.matched, result_.gradients, kMost) ||
        sizes_.Copies(&BaseSize::standing) < copies ||
        IsShare(sizes_.Cover(1, &BaseSize::others), result_.matched, kMost)) {
      return false;
    }
    const bool nearly_all = IsShare(result_.matched, result_.gradients, kNearlyAll);
    result_.parameters = nearly_all && different >= kManySizes ? BaseKinds::Confidence::kHigh
                                                               : BaseKinds::Confidence::kMedium;
    return true;
  }

  void Decide() {
    NameOptimizer();
    if (sizes_.TakeOutliving() && Match(1)) {
      Found(BaseKinds::Basis::kOutlive, 1);
    } else if (sizes_.TakeAdded() && Match(2)) {
      Found(BaseKinds::Basis::kAccumulated, 2);
    } else if (sizes_.TakeMultiples() && Match(2)) {
      result_.parameters = BaseKinds::Confidence::kMedium;
      Found(BaseKinds::Basis::kMultiples, 2);
    } else {
      result_.gradients = result_.matched = 0;
    }
  }
  // `known`: copies in the base that are no state.
  void Found(BaseKinds::Basis basis, std::uint32_t known) {
    result_.basis = basis;
    DecideStates(known);
  }

  // The optimizer that the recording shows, and how many blocks it keeps for each parameter.
  void NameOptimizer() {
    const auto note = [this](std::string_view name) {
      if (const std::uint32_t states = StatesPerParameter(name); states != 0) {
        several_ = several_ || (expected_ != 0 && expected_ != states);
        expected_ = states;
        result_.optimizer_name = result_.optimizer_name.empty() ? name : result_.optimizer_name;
      }
    };
    constexpr std::string_view kStep = "Optimizer.step#";
    for (const Mark& mark : recording_.history->marks) {
      if (const std::string_view name = mark.name; name.starts_with(kStep)) {
        note(name.substr(kStep.size(), name.find('.', kStep.size()) - kStep.size()));
      }
    }
    for (const Function& function : recording_.functions) {
      const std::string_view file = recording_.Text(function.filename);
      if (IsInOptimizerFolder(file)) {
        const std::string_view name = file.substr(file.find_last_of("/\\") + 1);
        note(name.substr(0, name.find('.')));
      }
    }
    if (several_) {
      expected_ = 0;
      result_.optimizer_name.clear();
    }
  }

  // What of the copies beside `known` ones is the optimizer's.
  void DecideStates(std::uint32_t known) {
    using enum BaseKinds::Confidence;
    const std::uint32_t freed = sizes_.Copies(&BaseSize::freed);
    const std::uint32_t made = sizes_.Copies(&BaseSize::made);
    old_ = made == 0 && sizes_.Copies(&BaseSize::early) == 1;
    const std::uint32_t standing = sizes_.Copies(&BaseSize::standing);
    // Of what the optimizer freed, what it did not make anew was scratch of a step.
    scratch_ = freed - std::min(freed, made);
    const std::uint32_t rest = known + (scratch_ != 0 ? sizes_.Copies(&BaseSize::freed_later) : 0);
    const std::uint32_t more = standing - std::min(standing, rest);
    result_.replaced = sizes_.Cover(freed, &BaseSize::freed);
    if (freed != 0 && scratch_ == 0) {
      Keep(freed, kHigh);
    } else if (made == 0 && more != 0) {
      DecideMore(more, standing);
    } else if (made == 0) {
      DecideWide();
    }
    result_.other_copies = more - std::min(more, result_.wide ? 0 : result_.states);
  }

  void DecideMore(std::uint32_t more, std::uint32_t standing) {
    using enum BaseKinds::Confidence;
    std::uint64_t all = 0;
    for (const BaseSize& size : sizes_.sizes()) {
      all += size.gradients != 0 ? size.standing : 0;
    }
    if (expected_ != 0 && more >= expected_) {
      Keep(expected_, expected_ > 1 ? kHigh : kMedium);
    } else if (expected_ == 0 && more == 2 &&
               IsShare(standing * result_.matched, all, kNearlyAll)) {
      Keep(2, kMedium);  // two more of each, of all, and nothing else of these sizes
    }
  }

  // Parameters of 16 bits have state, and often a copy, of 32.
  void DecideWide() {
    using enum BaseKinds::Confidence;
    sizes_.FindDoubled();
    const std::uint32_t wide = sizes_.Copies([this](const BaseSize& size) {
      if (size.doubled == RowMap::kNone) {
        return 0U;
      }
      const BaseSize& twice = sizes_.sizes()[size.doubled];
      return twice.standing - std::min(twice.standing, twice.gradients);
    });
    result_.wide = true;
    if (expected_ != 0 && wide >= expected_) {
      Keep(std::min(wide, expected_ + 1), expected_ > 1 ? kHigh : kMedium);
    } else if (expected_ == 0 && wide == 3) {
      Keep(3, kMedium);
    } else {
      result_.wide = false;
    }
  }

  void Keep(std::uint32_t states, BaseKinds::Confidence confidence) {
    result_.states = states;
    result_.optimizer = confidence;
  }

  // Of equal blocks those that live longest are the parameters: they are never freed.
  void Assign() {
    const std::span<BaseBlock> blocks = sizes_.blocks();
    const std::span<const BaseSize> sizes = sizes_.sizes();
    std::sort(blocks.begin(), blocks.end(), [](const BaseBlock& a, const BaseBlock& b) {
      return std::tuple(a.row, b.end, a.block) < std::tuple(b.row, a.end, b.block);
    });
    std::vector<std::uint64_t> states(sizes.size());
    for (std::size_t row = 0; row < sizes.size(); ++row) {
      states[row] += std::uint64_t{scratch_} * sizes[row].gradients;
      const std::size_t of = result_.wide ? sizes[row].doubled : row;
      if (of < sizes.size()) {
        states[of] += std::uint64_t{result_.states} * sizes[row].gradients;
      }
    }
    for (std::size_t first = 0, last = 0; first < blocks.size(); first = last) {
      const std::uint32_t row = blocks[first].row;
      while (last < blocks.size() && blocks[last].row == row) {
        ++last;
      }
      AssignSize(blocks.subspan(first, last - first), sizes[row], states[row]);
    }
    for (const BaseBlock& block : blocks) {
      if (block.kind != BaseKind::kUnknown && block.end != Replay::kNoEvent) {
        result_.freed_.emplace_back(block.end, block.kind);
      } else if (block.kind != BaseKind::kUnknown) {
        result_.kept_.emplace_back(block.block, block.kind);
      }
    }
    std::sort(result_.freed_.begin(), result_.freed_.end());
    std::sort(result_.kept_.begin(), result_.kept_.end());
  }

  void AssignSize(std::span<BaseBlock> blocks, const BaseSize& size, std::uint64_t states) {
    if (IsWorkspaceSize(size.size) && size.gradients == 0) {
      for (BaseBlock& block : blocks) {
        block.kind = BaseKind::kWorkspace;
      }
      return;
    }
    if (result_.parameters == BaseKinds::Confidence::kNone) {
      return;
    }
    std::uint64_t old = size.gradients;  // gradients that are set to None before there are new ones
    for (BaseBlock& block : blocks) {
      if (states != 0 && sizes_.FreedByOptimizer(block)) {
        block.kind = BaseKind::kOptimizerState;
        --states;
      } else if (old != 0 && block.end < sizes_.moment() &&
                 (sizes_.FreedByZeroGrad(block) || (old_ && sizes_.FreedByNobody(block)))) {
        block.kind = BaseKind::kGradient;
        --old;
      }
    }
    AssignStanding(blocks, size, states);
  }

  // `states`: how many of them are the optimizer's.
  void AssignStanding(std::span<BaseBlock> blocks, const BaseSize& size, std::uint64_t states) {
    std::uint64_t parameters = size.gradients;
    std::uint64_t gradients =
        result_.basis == BaseKinds::Basis::kOutlive ? 0 : std::uint64_t{size.gradients};
    for (BaseBlock& block : blocks) {
      if (block.kind != BaseKind::kUnknown || block.end < sizes_.moment()) {
        continue;
      }
      if (parameters != 0) {
        block.kind = BaseKind::kParameter;
        --parameters;
      } else if (gradients != 0) {
        block.kind = BaseKind::kGradient;
        --gradients;
      } else if (states != 0) {
        block.kind = BaseKind::kOptimizerState;
        --states;
      }
    }
  }

  const Recording& recording_;
  BaseSizes sizes_;
  BaseKinds& result_;
  std::uint32_t expected_ = 0;  // StatesPerParameter of the optimizer
  bool several_ = false;        // optimizers that differ in it
  bool old_ = false;            // one copy goes before the gradients come, and frees have no frames
  std::uint32_t scratch_ = 0;   // copies that a step freed and did not make anew
};

std::string_view BaseKindName(BaseKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"", "parameter", "gradient", "optimizer_state",
                                                   "workspace"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool IsWorkspaceSize(std::int64_t size) {
  constexpr std::int64_t kKiB = 1024;
  constexpr std::int64_t kCublas = std::int64_t{2} * 4096 + std::int64_t{8} * 16;
  constexpr std::int64_t kHipblasLt = std::int64_t{76} * 1024;
  return size == kCublas * kKiB || size == kHipblasLt * kKiB;
}

BaseKinds::BaseKinds(const Recording& recording, const Trace& trace, const Replay& replay) {
  if (!replay.unmatched().empty() || !replay.unopened().empty()) {
    BaseAnalysis(recording, trace, replay, *this);
  }
}

BaseKind BaseKinds::Of(const LiveBlock& block, const Trace& trace) const {
  const auto find = [](const auto& kinds, auto key) {
    const auto at = std::lower_bound(kinds.begin(), kinds.end(), std::pair(key, BaseKind()));
    return at != kinds.end() && at->first == key ? at->second : BaseKind::kUnknown;
  };
  if (!block.before_recording) {
    return BaseKind::kUnknown;
  }
  return block.event ? find(freed_, static_cast<std::uint32_t>(*block.event - trace.first_event))
                     : find(kept_, block.block);
}

}  // namespace memtool
