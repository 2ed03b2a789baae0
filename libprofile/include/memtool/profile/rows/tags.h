// Bytes per label value: which devices, which kinds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memtool/profile/rows/table.h"

namespace memtool {

struct TagRow {
  std::string key;
  std::string value;
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
  std::map<std::pair<std::string, std::string>, Sum> sums_;  // (key, value)
  std::int64_t total_ = 0;
};

}  // namespace memtool
