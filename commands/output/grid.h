// Rows as aligned columns, fitted to a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "output/text_table.h"
#include "output/writers.h"

namespace memtool::commands {

// Wide enough for any sane name; a hostile one is cut even where no terminal asks for it.
inline constexpr std::size_t kWidestCell = 200;

class Grid {
 public:
  // Measures the columns: a first pass over the rows. Keeps both by reference.
  Grid(const TextTable& table, const TableStyle& style);
  // The second pass; nothing at all when there are no rows.
  void Write(Sink& out) const;

 private:
  void Measure();
  void DropColumn(std::size_t shown);
  void Fit(std::size_t terminal);
  void DropForWidth(std::size_t terminal);
  [[nodiscard]] std::optional<std::size_t> WidestToCut() const;
  [[nodiscard]] bool MayCut(std::size_t shown) const {
    return ColumnAt(shown).shrink && !ColumnAt(shown).wrap;
  }
  [[nodiscard]] std::string CellAt(std::size_t shown, const std::string& text,
                                   std::size_t used) const;
  // What the shown columns need when those that may shrink do so comfortably.
  [[nodiscard]] std::size_t ComfortableWidth() const;
  [[nodiscard]] std::size_t TotalWidth() const;
  [[nodiscard]] const Column& ColumnAt(std::size_t shown) const {
    return table_.columns[shown_[shown]];
  }
  [[nodiscard]] std::string Text(const std::vector<Cell>& row, std::size_t column) const;
  [[nodiscard]] std::string Lines(const std::vector<std::string>& texts) const;

  const TextTable& table_;
  const TableStyle& style_;
  std::vector<std::size_t> shown_;   // columns of the table
  std::vector<std::size_t> widths_;  // of those
  bool empty_ = true;                // there is no row
};

// A line of text in lines of at most `width` cells, broken at " · " or else at spaces; 0 = as it
// is.
std::vector<std::string> WrapText(std::string_view text, std::size_t width);

}  // namespace memtool::commands
