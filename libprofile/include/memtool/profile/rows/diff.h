// What grew between a base and a new set of inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/rows/table.h"

namespace memtool {

enum class DiffStatus : std::uint8_t { kUnchanged, kChanged, kNew, kGone };

struct DiffRow {
  SharedText name;
  SharedText file;
  std::int64_t line = 0;
  std::int64_t more_lines = 0;  // Place::more
  SharedText via;
  NodeValue base;
  NodeValue now;
  DiffStatus status = DiffStatus::kUnchanged;
  NodeId node;
  // The nearest caller that carries at least 90 % of the delta, where several call the row.
  SharedText through;

  [[nodiscard]] std::int64_t delta() const { return SaturatingSubtract(now.flat, base.flat); }
  [[nodiscard]] std::int64_t delta_cum() const { return SaturatingSubtract(now.cum, base.cum); }
};

// Joins two row sets that were made over one NodeSpace. Sorted by |delta| (flat or cum), ties by
// name.
std::vector<DiffRow> DiffRows(std::span<const Row> base, std::span<const Row> now, SortBy sort);

// Fills DiffRow::through of `rows`. `base` and `now`: the inputs that the rows were
// made from; `space`: the space that both sides share.
void FillThrough(std::span<DiffRow> rows, std::span<const Input> base, std::span<const Input> now,
                 Granularity granularity, NodeSpace& space);

}  // namespace memtool
