// Moments in a rocpd database.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/row_vector.h"
#include "rocpd/tables.h"

namespace memtool::formats::rocpd {

// Times by number, of schema 4: numbers count up and times nearly so, so that most are found by
// their place, as the distance from the first one near it.
class Timestamps {
 public:
  void Add(std::int64_t id, std::int64_t time);
  [[nodiscard]] std::optional<std::int64_t> At(std::optional<std::int64_t> id) const;

 private:
  static constexpr std::size_t kPerBase = 64;
  static constexpr std::int32_t kNone = INT32_MIN;

  std::int64_t first_ = 0;
  RowVector<std::int64_t> bases_;  // of so many times each
  RowVector<std::int32_t> times_;
  KeyMap<std::int64_t, std::int64_t> others_;
};

// When memory came or went, by thread. The rows must outlive it, and be in the order of time.
class ThreadTimes {
 public:
  explicit ThreadTimes(const Tables& tables);
  [[nodiscard]] bool AnyWithin(std::uint32_t thread, std::int64_t begin, std::int64_t end) const;

 private:
  [[nodiscard]] std::int64_t TimeAt(std::size_t at) const {
    return memory_[rows_.empty() ? at : rows_[at]].time;
  }

  const RowVector<MemoryRow>& memory_;
  std::vector<std::size_t> first_;  // per thread, and one more
  RowVector<std::uint32_t> rows_;   // by thread; none where there is one thread
};

}  // namespace memtool::formats::rocpd
