// Bytes per label value: which devices, which kinds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "memtool/profile/base/row_map.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/base/string_table.h"
#include "memtool/profile/rows/table.h"

namespace memtool {

struct TagRow {
  SharedText key;
  SharedText value;
  std::int64_t bytes = 0;
  std::int64_t count = 0;    // allocations; 0 when the input does not count
  std::int64_t unknown = 0;  // allocations of unknown size
};

class TagTable {
 public:
  void Add(const Input& input);
  // By key, then by |bytes| descending, then by value.
  [[nodiscard]] std::vector<TagRow> Rows() const;
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  struct Sum {
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    std::int64_t unknown = 0;
    void Add(const Sum& other);
  };
  Sum& SumOf(StringId key, StringId value);

  StringTable texts_;
  RowMap row_of_label_;  // key and value → row of sums_
  struct Keyed {
    StringId key;
    StringId value;
    Sum sum;
  };
  std::vector<Keyed> sums_;
  std::int64_t total_ = 0;
};

}  // namespace memtool
