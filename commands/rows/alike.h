// Tables without rows that tell nothing new. Data (JSON, CSV) keeps every row.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "output/text_table.h"

namespace memtool::commands {

// Rows of a table that read alike.
struct AlikeRows {
  const std::vector<Cell>& first;
  const std::vector<Cell>& last;
  std::size_t count = 0;
};

struct AlikeRule {
  std::vector<std::size_t> own;  // columns in which rows may differ
  bool adjacent = false;         // only rows that follow each other
  std::size_t limit = 0;         // rows that stay; 0 = all
  // What the joined row says in the first of the columns; the others stay as in the first row.
  std::function<std::string(const AlikeRows&)> say;
};

// Three or more rows that read alike become the first of them. `table` holds all its rows.
void JoinAlike(const AlikeRule& rule, TextTable& table);

// Takes out the rows whose amounts in all of these columns are 0; returns how many.
std::size_t DropZeros(std::span<const std::size_t> amounts, TextTable& table);

}  // namespace memtool::commands
