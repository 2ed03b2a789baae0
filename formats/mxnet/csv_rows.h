// Rows of the forms with a header. Numbers are quoted or bare; names are quoted but not escaped, so
// a row is split from both ends and what is left is the name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mxnet/forms.h"

namespace memtool::formats::mxnet {

struct CsvRow {
  std::string_view name;  // scopes and name, joined as the official form does it
  std::string_view structure;
  std::int32_t device = -1;
  std::uint64_t requested = 0;
  std::uint64_t actual = 0;
  bool reused = false;
  std::string joined;  // room for a name that is not in one piece in the line
};

class CsvRows {
 public:
  explicit CsvRows(Form form) : form_(form) {}
  // False when the line is not a row. `row` is reused between calls; views are into the line.
  bool Parse(std::string_view line, CsvRow& row) const;

 private:
  Form form_;
};

}  // namespace memtool::formats::mxnet
