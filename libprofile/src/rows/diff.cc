#include "memtool/profile/rows/diff.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/on_threads.h"
#include "memtool/profile/select/stack_sums.h"

namespace memtool {

namespace {

constexpr double kCarries = 0.9;

// Frames join by node; other rows (labels, sizes, inputs) have no place and join by name.
using Key = std::pair<std::uint32_t, SharedText>;

Key GetKey(const Row& row) {
  return {row.node.value(), row.node.valid() ? SharedText() : row.name};
}

DiffStatus GetStatus(const DiffRow& row) {
  const auto nothing = [](const NodeValue& v) { return v.flat == 0 && v.cum == 0; };
  if (nothing(row.base) && !nothing(row.now)) {
    return DiffStatus::kNew;
  }
  if (!nothing(row.base) && nothing(row.now)) {
    return DiffStatus::kGone;
  }
  return row.base.flat == row.now.flat && row.base.cum == row.now.cum ? DiffStatus::kUnchanged
                                                                      : DiffStatus::kChanged;
}

// How much of a row's delta each caller carries.
struct Callers {
  struct Caller {
    std::int64_t carried = 0;  // Σ delta
    std::size_t distance = 0;  // fewest frames between it and the row
  };
  KeyMap<std::uint32_t, Caller> by_node;
  KeySet<std::uint32_t> direct;  // callers one frame above

  // `stack`: innermost first, the row's own node in front. Recursion counts once.
  void Add(std::span<const NodeId> stack, std::int64_t delta) {
    direct.insert(stack[1].value());
    for (std::size_t i = 1; i < stack.size(); ++i) {
      const bool repeated =
          std::find(stack.begin() + 1, stack.begin() + static_cast<std::ptrdiff_t>(i), stack[i]) !=
          stack.begin() + static_cast<std::ptrdiff_t>(i);
      if (repeated) {
        continue;
      }
      const auto [at, added] = by_node.try_emplace(stack[i].value());
      at->second.carried = SaturatingAdd(at->second.carried, delta);
      at->second.distance = added ? i : std::min(at->second.distance, i);
    }
  }
  void Add(const Callers& other) {
    direct.insert(other.direct.begin(), other.direct.end());
    for (const auto& [node, caller] : other.by_node) {
      const auto [at, added] = by_node.try_emplace(node, caller);
      if (!added) {
        at->second.carried = SaturatingAdd(at->second.carried, caller.carried);
        at->second.distance = std::min(at->second.distance, caller.distance);
      }
    }
  }
};

// By node of the row.
using CallersOfRows = KeyMap<std::uint32_t, Callers>;

void AddCallers(const NodeWalker& walker, std::span<const StackSum> stacks, bool is_base,
                CallersOfRows& rows) {
  NodeStack stack;
  for (const StackSum& sum : stacks) {
    if (sum.value == 0 || !walker.Expand(sum, stack) || stack.nodes.size() < 2) {
      continue;
    }
    const auto row = rows.find(stack.nodes.front().value());
    if (row != rows.end()) {
      row->second.Add(stack.nodes, is_base ? SaturatingSubtract(0, sum.value) : sum.value);
    }
  }
}

void AddCallers(const Input& input, bool is_base, Granularity granularity, NodeSpace& space,
                CallersOfRows& rows) {
  const NodeWalker walker(*input.view, granularity, space);
  const std::span<const StackSum> stacks = input.sums->rows;
  const auto parts = SplitForThreads(stacks.size(), input.sums->MinRowsPerThread());
  std::vector<CallersOfRows> of_parts(parts.size());
  for (const auto& [node, callers] : rows) {
    for (CallersOfRows& part : of_parts) {
      part.try_emplace(node);
    }
  }
  OnThreads(parts.size(), [&](std::size_t i) {
    AddCallers(walker, stacks.subspan(parts[i].begin, parts[i].end - parts[i].begin), is_base,
               of_parts[i]);
  });
  for (const CallersOfRows& part : of_parts) {
    for (const auto& [node, callers] : part) {
      rows.at(node).Add(callers);
    }
  }
}

SharedText Through(const DiffRow& row, const Callers& callers, NodeSpace& space) {
  if (callers.direct.size() < 2) {
    return {};
  }
  NodeId best;
  std::size_t best_distance = 0;
  for (const auto& [node, caller] : callers.by_node) {
    const NodeId id(node);
    const std::size_t distance = caller.distance;
    const double share = static_cast<double>(caller.carried) / static_cast<double>(row.delta());
    const bool nearer = !best.valid() || distance < best_distance ||
                        (distance == best_distance && space.Name(id) < space.Name(best));
    if (share >= kCarries && id != row.node && nearer) {
      best = id;
      best_distance = distance;
    }
  }
  return best.valid() ? space.ShareName(best) : SharedText{};
}

}  // namespace

std::vector<DiffRow> DiffRows(std::span<const Row> base, std::span<const Row> now, SortBy sort) {
  std::map<Key, std::size_t> index;
  std::vector<DiffRow> rows;
  const auto row_for = [&](const Row& from) -> DiffRow& {
    const auto [at, added] = index.emplace(GetKey(from), rows.size());
    if (added) {
      rows.push_back({.name = from.name, .node = from.node});
    }
    return rows[at->second];
  };
  for (const Row& from : base) {
    DiffRow& row = row_for(from);
    row.base = from.value;
    row.file = from.file;
    row.line = from.line;
    row.more_lines = from.more_lines;
    row.via = from.via;
  }
  for (const Row& from : now) {
    DiffRow& row = row_for(from);
    row.now = from.value;
    row.file = from.file;
    row.line = from.line;
    row.more_lines = from.more_lines;
    row.via = from.via.empty() ? row.via : from.via;
  }
  for (DiffRow& row : rows) {
    row.status = GetStatus(row);
  }
  const auto size = [sort](const DiffRow& row) {
    return Magnitude(sort == SortBy::kFlat ? row.delta() : row.delta_cum());
  };
  std::stable_sort(rows.begin(), rows.end(), [size](const DiffRow& a, const DiffRow& b) {
    return size(a) != size(b) ? size(a) > size(b) : ByName(a, b);
  });
  return rows;
}

void FillThrough(std::span<DiffRow> rows, std::span<const Input> base, std::span<const Input> now,
                 Granularity granularity, NodeSpace& space) {
  CallersOfRows wanted;
  for (const DiffRow& row : rows) {
    if (row.node.valid() && row.delta() != 0) {
      wanted.try_emplace(row.node.value());
    }
  }
  for (const Input& input : base) {
    AddCallers(input, true, granularity, space, wanted);
  }
  for (const Input& input : now) {
    AddCallers(input, false, granularity, space, wanted);
  }
  for (DiffRow& row : rows) {
    if (const auto callers = wanted.find(row.node.value()); callers != wanted.end()) {
      row.through = Through(row, callers->second, space);
    }
  }
}

}  // namespace memtool
