#include "memtool/profile/analysis/diff.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>

namespace memtool {

namespace {

constexpr double kCarries = 0.9;

// Frames join by node; other rows (labels, sizes, inputs) have no place and join by name.
using Key = std::pair<std::uint32_t, std::string_view>;

Key KeyOf(const Row& row) {
  return {row.node.value(), row.node.valid() ? std::string_view{} : std::string_view(row.name)};
}

DiffStatus StatusOf(const DiffRow& row) {
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
  std::unordered_map<std::uint32_t, std::int64_t> carried;  // caller node → Σ delta
  std::unordered_map<std::uint32_t, std::size_t> distance;  // caller node → frames above the row
  std::unordered_map<std::uint32_t, char> direct;           // callers one frame above
};

void AddCallers(std::span<const Input> inputs, std::int64_t sign, Granularity granularity,
                NodeSpace& space, std::unordered_map<std::uint32_t, Callers>& rows) {
  for (const Input& input : inputs) {
    NodeWalker walker(*input.view, granularity, space);
    NodeStack stack;
    std::vector<std::uint32_t> seen;
    for (const StackSum& sum : input.sums->rows) {
      if (sum.value == 0 || !walker.Expand(sum, stack) || stack.nodes.size() < 2) {
        continue;
      }
      const auto found = rows.find(stack.nodes.front().value());
      if (found == rows.end()) {
        continue;
      }
      Callers& callers = found->second;
      callers.direct[stack.nodes[1].value()] = 1;
      seen.clear();
      for (std::size_t i = 1; i < stack.nodes.size(); ++i) {
        const std::uint32_t caller = stack.nodes[i].value();
        if (std::find(seen.begin(), seen.end(), caller) != seen.end()) {
          continue;
        }
        seen.push_back(caller);
        std::int64_t& carried = callers.carried[caller];
        carried =
            sign < 0 ? SaturatingSubtract(carried, sum.value) : SaturatingAdd(carried, sum.value);
        const auto [distance, added] = callers.distance.emplace(caller, i);
        distance->second = std::min(distance->second, i);
      }
    }
  }
}

std::string Through(const DiffRow& row, const Callers& callers, const NodeSpace& space) {
  if (callers.direct.size() < 2) {
    return {};
  }
  NodeId best;
  std::size_t best_distance = 0;
  for (const auto& [caller, carried] : callers.carried) {
    const NodeId id(caller);
    const std::size_t distance = callers.distance.at(caller);
    const double share = static_cast<double>(carried) / static_cast<double>(row.delta());
    const bool nearer = !best.valid() || distance < best_distance ||
                        (distance == best_distance && space.Name(id) < space.Name(best));
    if (share >= kCarries && id != row.node && nearer) {
      best = id;
      best_distance = distance;
    }
  }
  return best.valid() ? std::string(space.Name(best)) : std::string{};
}

}  // namespace

std::vector<DiffRow> DiffRows(std::span<const Row> base, std::span<const Row> now, SortBy sort) {
  std::map<Key, std::size_t> index;
  std::vector<DiffRow> rows;
  const auto row_for = [&](const Row& from) -> DiffRow& {
    const auto [at, added] = index.emplace(KeyOf(from), rows.size());
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
    row.via = from.via;
  }
  for (const Row& from : now) {
    DiffRow& row = row_for(from);
    row.now = from.value;
    row.file = from.file;
    row.line = from.line;
    row.via = from.via.empty() ? row.via : from.via;
  }
  for (DiffRow& row : rows) {
    row.status = StatusOf(row);
  }
  std::sort(rows.begin(), rows.end(), [sort](const DiffRow& a, const DiffRow& b) {
    const auto size = [sort](const DiffRow& row) {
      return -Magnitude(sort == SortBy::kFlat ? row.delta() : row.delta_cum());
    };
    return std::tuple(size(a), std::string_view(a.name), std::string_view(a.file), a.line) <
           std::tuple(size(b), std::string_view(b.name), std::string_view(b.file), b.line);
  });
  return rows;
}

void FillThrough(std::span<DiffRow> rows, std::span<const Input> base, std::span<const Input> now,
                 Granularity granularity, NodeSpace& space) {
  std::unordered_map<std::uint32_t, Callers> wanted;
  for (const DiffRow& row : rows) {
    if (row.node.valid() && row.delta() != 0) {
      wanted.try_emplace(row.node.value());
    }
  }
  AddCallers(base, -1, granularity, space, wanted);
  AddCallers(now, 1, granularity, space, wanted);
  for (DiffRow& row : rows) {
    if (const auto callers = wanted.find(row.node.value()); callers != wanted.end()) {
      row.through = Through(row, callers->second, space);
    }
  }
}

}  // namespace memtool
