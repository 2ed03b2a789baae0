// The events of a history as columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memtool/profile/model/history.h"
#include "memtool_file/column_packer.h"
#include "memtool_file/event_links.h"

namespace memtool::formats::memtool_file {

// The last event of each address: a hash table of rows, because there are as many as events.
class LastOfKey {
 public:
  explicit LastOfKey(const RowVector<Event>& events);
  static constexpr std::uint32_t kNone = 0xffffffffU;
  // The row that was stored for the key of `row`, which takes its place.
  std::uint32_t Exchange(std::uint32_t row);

 private:
  void Grow();
  [[nodiscard]] std::size_t Slot(std::uint64_t key) const;

  const RowVector<Event>& events_;
  std::vector<std::uint32_t> slots_;
  std::size_t used_ = 0;
};

class EventPacker {
 public:
  explicit EventPacker(const History& history);
  // Rows `first` to `first + count`, in one call after the other.
  void Pack(std::size_t first, std::size_t count, ColumnPacker& columns);

 private:
  void Add(std::uint32_t row);
  void AddContents(std::uint32_t row, std::uint32_t other);
  std::vector<std::uint64_t>& Column(EventColumn column) { return columns_[column]; }

  const History& history_;
  LastOfKey last_;
  std::array<std::uint32_t, kActions> counts_{};
  std::array<std::uint32_t, kActions> last_rows_{};
  std::vector<std::uint32_t> ordinals_;  // of each event among those of its action
  std::array<std::vector<std::uint64_t>, kOtherLabels + 1> columns_;
};

}  // namespace memtool::formats::memtool_file
