#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "memtool/profile/advise/step_edits.h"
#include "memtool/profile/base/arithmetic.h"

namespace memtool::advise {

namespace {

using Kind = whatif::Request::Kind;

// Gradients: of the backward, alive when the optimizer steps.
std::map<std::int64_t, std::size_t> GradientSizes(const Program& program) {
  std::map<std::int64_t, std::size_t> sizes;
  const std::vector<Pass> passes = FindPasses(program);
  const Pass* const stepped = [&passes]() -> const Pass* {
    const auto last = std::find_if(passes.rbegin(), passes.rend(),
                                   [](const Pass& pass) { return pass.optimizer; });
    return last == passes.rend() ? nullptr : &*last;
  }();
  if (stepped == nullptr) {
    return sizes;
  }
  for (Time i = stepped->backward; i < stepped->end; ++i) {
    const Operation& operation = program.operations[i];
    const Block& block = program.blocks[operation.block];
    if (operation.kind == Kind::kAllocate && block.phase == Phase::kBackward &&
        block.freed > stepped->end) {
      ++sizes[block.size];
    }
  }
  return sizes;
}

void CountPerParameter(const Program& program, OptimizerState& state) {
  // By bytes: a counter per parameter is as large as a small parameter.
  std::map<std::int64_t, std::size_t> gradients = GradientSizes(program);
  double states = 0;
  double parameters = 0;
  for (const std::uint32_t row : state.blocks) {
    const std::int64_t size = program.blocks[row].size;
    states += gradients.contains(size) ? static_cast<double>(size) : 0.0;
  }
  for (const auto& [size, count] : gradients) {
    parameters += static_cast<double>(size) * static_cast<double>(count);
  }
  constexpr double kHalf = 0.5;
  state.per_parameter =
      parameters > 0 ? static_cast<std::uint32_t>(states / parameters + kHalf) : 0;
}

// Per size as many as there are new ones: what was there before and goes while an optimizer steps.
void FindReplaced(const Program& program, OptimizerState& state) {
  std::map<std::int64_t, std::size_t> made;
  for (const std::uint32_t row : state.blocks) {
    ++made[program.blocks[row].size];
  }
  bool steps = false;
  for (const Operation& operation : program.operations) {
    const Block& block = program.blocks[operation.block];
    if (operation.kind == Kind::kAllocate) {
      steps = block.phase == Phase::kOptimizer;
      continue;
    }
    const auto of_size = made.find(block.size);
    if (operation.kind == Kind::kFreeCompleted && steps && block.phase == Phase::kBefore &&
        of_size != made.end() && of_size->second > 0) {
      --of_size->second;
      state.replaced.push_back(operation.block);
    }
  }
}

// Per size, what was there before beyond the parameters: as many of these as gradients.
void FindInBase(const Program& program, OptimizerState& state) {
  auto gradients = GradientSizes(program);
  for (std::uint32_t row = 0; row < program.base_blocks; ++row) {
    const Block& block = program.blocks[row];
    const auto of_size = gradients.find(block.size);
    if (of_size == gradients.end() || block.freed != kNever) {
      continue;
    }
    if (of_size->second > 0) {
      --of_size->second;
    } else {
      state.blocks.push_back(row);
    }
  }
}

// Rows of state by size, largest first: those of one parameter follow each other.
std::map<std::int64_t, std::vector<std::uint32_t>, std::greater<>> BySize(
    const Program& program, const std::vector<std::uint32_t>& blocks) {
  std::map<std::int64_t, std::vector<std::uint32_t>, std::greater<>> sizes;
  for (const std::uint32_t row : blocks) {
    sizes[program.blocks[row].size].push_back(row);
  }
  return sizes;
}

// Values in eight bits with a scale per 256 of them; small ones are left as they are
// (bitsandbytes' block-wise optimizers).
std::int64_t In8Bits(std::int64_t size) {
  constexpr std::int64_t kFloat = 4;
  constexpr std::int64_t kPerScale = 256;
  constexpr std::int64_t kSmallest = 4096;
  const std::int64_t count = size / kFloat;
  return count < kSmallest ? size : count + (count + kPerScale - 1) / kPerScale * kFloat;
}

}  // namespace

OptimizerState FindState(const Program& program, Rules rules) {
  OptimizerState state;
  for (const Operation& operation : program.operations) {
    if (operation.kind != Kind::kAllocate) {
      continue;
    }
    const Block& block = program.blocks[operation.block];
    if (block.phase == Phase::kOptimizer && block.freed == kNever) {
      state.blocks.push_back(operation.block);
      state.made = true;
    }
  }
  FindReplaced(program, state);
  if (state.blocks.empty()) {
    FindInBase(program, state);
  }
  if (rules.state_from_gradients) {
    for (const auto& [size, count] : GradientSizes(program)) {
      state.bytes = SaturatingAdd(state.bytes, 2 * size * static_cast<std::int64_t>(count));
    }
  }
  for (const std::uint32_t row : state.blocks) {
    state.bytes = SaturatingAdd(state.bytes, program.blocks[row].size);
  }
  CountPerParameter(program, state);
  return state;
}

std::optional<Program> ChangeOptimizer(const Program& program, OptimizerChange change) {
  const OptimizerState state = FindState(program);
  if (state.blocks.empty()) {
    return std::nullopt;
  }
  Splice splice(program);
  for (const auto* blocks : {&state.blocks, &state.replaced}) {
    for (const auto& [size, rows] : BySize(program, *blocks)) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (change == OptimizerChange::k8Bit) {
          splice.Resize(rows[i], In8Bits(size));
        } else if (change == OptimizerChange::kCpu || (i % 2 == 1 && state.per_parameter > 1)) {
          splice.Drop(rows[i]);
        }
      }
    }
  }
  return splice.Finish();
}

std::optional<Program> ShardState(const Program& program, std::uint32_t ranks) {
  const OptimizerState state = FindState(program);
  if (state.blocks.empty() || ranks < 2) {
    return std::nullopt;
  }
  const std::size_t per = std::max<std::size_t>(state.per_parameter, 1);
  Splice splice(program);
  for (const auto* blocks : {&state.blocks, &state.replaced}) {
    // Parameters, the largest first, to the rank that has the least: as ZeroRedundancyOptimizer
    // does.
    std::vector<std::int64_t> loads(ranks, 0);
    for (const auto& [size, rows] : BySize(program, *blocks)) {
      for (std::size_t i = 0; i < rows.size(); i += per) {
        const auto least = std::min_element(loads.begin(), loads.end());
        *least = SaturatingAdd(*least, size);
        if (least == loads.begin()) {
          continue;
        }
        for (std::size_t j = i; j < std::min(i + per, rows.size()); ++j) {
          splice.Drop(rows[j]);
        }
      }
    }
  }
  return splice.Finish();
}

namespace {

// The smallest period of sizes; all of them where there is none.
std::size_t PeriodOfSizes(const std::vector<std::int64_t>& sizes) {
  std::vector<std::size_t> border(sizes.size(), 0);
  for (std::size_t i = 1, matched = 0; i < sizes.size(); ++i) {
    while (matched > 0 && sizes[i] != sizes[matched]) {
      matched = border[matched - 1];
    }
    matched += sizes[i] == sizes[matched] ? 1 : 0;
    border[i] = matched;
  }
  return sizes.empty() ? 0 : sizes.size() - border.back();
}

std::vector<std::int64_t> SizesOf(const Program& program, const std::vector<std::uint32_t>& rows) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(rows.size());
  for (const std::uint32_t row : rows) {
    sizes.push_back(program.blocks[row].size);
  }
  return sizes;
}

// The temporaries of one step that are alive three temporaries later.
std::vector<std::uint32_t> ListTemporaries(const Program& program, Time begin, Time end) {
  std::vector<std::uint32_t> temporaries;
  for (Time i = begin; i < end; ++i) {
    const Operation& operation = program.operations[i];
    const Block& block = program.blocks[operation.block];
    if (operation.kind == Kind::kAllocate && block.phase == Phase::kOptimizer &&
        block.freed < end) {
      temporaries.push_back(operation.block);
    }
  }
  constexpr std::size_t kLater = 3;
  std::vector<std::uint32_t> lists;
  for (std::size_t i = 0; i + kLater < temporaries.size(); ++i) {
    if (program.blocks[temporaries[i]].freed > program.blocks[temporaries[i + kLater]].made) {
      lists.push_back(temporaries[i]);
    }
  }
  // The last ones of the last list have fewer behind them; one list alone has as many as gradients.
  std::size_t gradients = 0;
  for (const auto& [size, count] : GradientSizes(program)) {
    gradients += count;
  }
  if (!lists.empty() && temporaries.size() == gradients) {
    return temporaries;
  }
  const std::size_t period = PeriodOfSizes(SizesOf(program, lists));
  auto behind = lists.empty() ? temporaries.end()
                              : std::find(temporaries.begin(), temporaries.end(), lists.back()) + 1;
  while (period > 0 && lists.size() % period != 0 && behind != temporaries.end()) {
    const std::int64_t wanted = program.blocks[lists[lists.size() - period]].size;
    behind = std::find_if(behind, temporaries.end(),
                          [&](std::uint32_t row) { return program.blocks[row].size == wanted; });
    if (behind != temporaries.end()) {
      lists.push_back(*behind++);
    }
  }
  return lists;
}

}  // namespace

std::optional<Program> WithoutForeach(const Program& program) {
  Splice splice(program);
  bool any = false;
  const std::vector<Pass> passes = FindPasses(program);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (!passes[i].optimizer) {
      continue;
    }
    const Time begin = passes[i].end;
    const Time end =
        i + 1 < passes.size() ? passes[i + 1].begin : static_cast<Time>(program.operations.size());
    const std::vector<std::uint32_t> lists = ListTemporaries(program, begin, end);
    const std::size_t parameters = PeriodOfSizes(SizesOf(program, lists));
    if (parameters < 2 || lists.size() % parameters != 0) {
      continue;
    }
    any = true;
    // Each one's operations in their order, one parameter after the other, where the first was.
    std::vector<std::pair<Time, std::uint32_t>> operations;  // and the temporary
    for (std::size_t j = 0; j < lists.size(); ++j) {
      operations.emplace_back(program.blocks[lists[j]].made, static_cast<std::uint32_t>(j));
      operations.emplace_back(program.blocks[lists[j]].freed, static_cast<std::uint32_t>(j));
    }
    std::sort(operations.begin(), operations.end());
    std::stable_sort(operations.begin(), operations.end(), [&](const auto& a, const auto& b) {
      return a.second % parameters < b.second % parameters;
    });
    const Time at = program.blocks[lists.front()].made;
    std::vector<std::uint32_t> copies(lists.size(), kNever);
    for (const auto& [time, j] : operations) {
      if (copies[j] == kNever) {
        copies[j] = splice.Make(at, program.blocks[lists[j]]);
        splice.Drop(lists[j]);
      } else {
        splice.Free(at, copies[j]);
      }
    }
  }
  return any ? std::optional(splice.Finish()) : std::nullopt;
}

}  // namespace memtool::advise
