#include "ascend_db/operations.h"

#include <algorithm>

#include "memtool/profile/base/row_map.h"
#include "support/history/name_stacks.h"
#include "support/read_error.h"

namespace memtool::formats::ascend_db {

std::optional<std::uint32_t> Operations::PlaceOf(std::int32_t device, std::int64_t component,
                                                 std::string_view name) {
  const std::pair key(device, component);
  const auto known = place_index_.find(key);
  if (known != place_index_.end()) {
    return known->second;
  }
  if (places_.size() == ascend::kMaxLedgers) {
    return std::nullopt;
  }
  places_.push_back({.device = device, .name = std::string(name)});
  return place_index_.emplace(key, static_cast<std::uint32_t>(places_.size() - 1)).first->second;
}

// Of each allocation the row that ends it, of each release without one itself; else kNone.
std::vector<std::uint32_t> Operations::FindReleases() {
  std::vector<RowMap> live(places_.size());
  std::vector<std::uint32_t> ends(rows_.size(), RowMap::kNone);
  for (std::uint32_t row = 0; row < rows_.size(); ++row) {
    const Operation& operation = rows_[row];
    RowMap& open = live[operation.place];
    const std::uint32_t before =
        operation.releases ? open.Take(operation.address) : open.Put(operation.address, row);
    if (before != RowMap::kNone) {
      ends[before] = row;
      reopened_ += operation.releases ? 0 : 1;
    } else if (operation.releases) {
      ends[row] = row;
    }
  }
  return ends;
}

void Operations::MoveTo(ascend::TensorLedgers& ledgers, std::uint32_t first_row) {
  if (rows_.size() >= UINT32_MAX - first_row) {
    ThrowRead(ErrorCode::kLimit, 0, {}, "more than 4,294,967,295 rows of memory");
  }
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const Operation& a, const Operation& b) { return a.time < b.time; });
  const std::vector<std::uint32_t> ends = FindReleases();
  for (std::uint32_t row = 0; row < rows_.size(); ++row) {
    const Operation& operation = rows_[row];
    const bool ended = ends[row] != RowMap::kNone;
    if (operation.releases && !ended) {
      continue;
    }
    const Place& place = places_[operation.place];
    ascend::TensorLedger* ledger = ledgers.Of(place.device, place.name);
    if (ledger == nullptr) {
      continue;
    }
    ascend::Tensor tensor{
        .size = operation.size, .stack = operation.stack, .address = operation.address};
    if (!operation.releases) {
      tensor.allocated_at = operation.time;
      tensor.after_allocation = operation.after;
    }
    if (ended) {
      const Operation& end = rows_[ends[row]];
      tensor.released_at = end.time;
      tensor.after_release = end.releases ? end.after : ascend::Totals();
    }
    ledger->Add(first_row + row, tensor);
  }
  rows_ = {};
}

}  // namespace memtool::formats::ascend_db
