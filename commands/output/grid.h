// Rows as aligned columns, fitted to a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "output/text_table.h"
#include "output/writers.h"

namespace memtool::commands {

// Wide enough for any sane name; a hostile one is cut even where no terminal asks for it.
inline constexpr std::size_t kMaxCellWidth = 200;
inline constexpr std::size_t kMaxCellBytes = 8 * kMaxCellWidth;  // more cannot be seen

class Grid {
 public:
  // Measures the columns: a first pass over the rows, a second when columns were dropped that a
  // row's unit was chosen by. Keeps both by reference.
  Grid(const TextTable& table, const TableStyle& style);
  // One more pass; writes nothing when there are no rows.
  void Write(Sink& out) const;
  // Titles of the columns that had to give way, in the table's order.
  [[nodiscard]] std::vector<std::string_view> Hidden() const;
  [[nodiscard]] bool Shows(std::string_view title) const;

 private:
  struct Measured;
  void Measure();
  // `at`: the table's column, `widest`: its widest cell so far. `room`: for a text that has to be
  // made.
  void MeasureCell(const Cell& cell, std::size_t at, SizeUnit unit, Measured& measured,
                   std::size_t& widest, VisibleText& room) const;
  void Fit(std::size_t terminal);
  // Leaves out columns until the others have room; true when there were any.
  bool DropForWidth(std::size_t terminal);
  void CutNames();
  [[nodiscard]] std::optional<std::size_t> WidestToCut(std::size_t narrowest) const;
  [[nodiscard]] bool Wraps(std::size_t shown) const {
    return ColumnAt(shown).wrap && shown + 1 == shown_.size();
  }
  [[nodiscard]] bool MayCut(std::size_t shown) const {
    return (ColumnAt(shown).shrink || ColumnAt(shown).wrap) && !Wraps(shown);
  }
  // What a cell says; the text may be that of the cell itself.
  struct Rendered {
    VisibleView text;
    std::size_t width = 0;
    std::string link = {};  // a URL; empty = none
  };
  // A cell that may take several lines; `used` cells of the line come before it.
  void AppendCell(std::size_t shown, VisibleView text, std::size_t used, VisibleText& line) const;
  // What the shown columns need; `comfortable`: when those that may shrink do so as far as is
  // pleasant. A column that wraps needs at most `wrapped`.
  [[nodiscard]] std::size_t TotalWidth(bool comfortable, std::size_t wrapped) const;
  [[nodiscard]] const Column& ColumnAt(std::size_t shown) const {
    return table_.columns[shown_[shown]];
  }
  // Before it is cut to the width of its column. `room`: for a text that has to be made.
  [[nodiscard]] Rendered Render(const Cell& cell, std::size_t column, SizeUnit unit,
                                VisibleText& room) const;
  [[nodiscard]] VisibleText Header() const;
  // A cell's text, cut where its column had to shrink.
  [[nodiscard]] Rendered Fitting(std::size_t shown, const Rendered& rendered,
                                 VisibleText& room) const;
  // Replaces `line` with cells in their places.
  void Compose(const std::vector<Rendered>& cells, const std::vector<int>& colors,
               VisibleText& line) const;
  [[nodiscard]] Ink GetInk(std::size_t shown, const std::vector<Cell>& row,
                           std::size_t number) const;
  // Whether a cell of row `number` is linked to its place.
  [[nodiscard]] bool IsPlace(std::size_t shown, std::size_t number) const {
    return style_.links != nullptr && number < table_.places.size() &&
           shown_[shown] == table_.place_column;
  }

  const TextTable& table_;
  const TableStyle& style_;
  std::vector<std::size_t> shown_;   // columns of the table
  std::vector<std::size_t> widths_;  // of those
  std::vector<std::size_t> hidden_;  // columns that gave way
  // For columns that are cut: what their cells say, and what is printed instead.
  std::vector<std::set<std::string>> names_;
  std::vector<KeyMap<std::string, std::string>> cut_;
  bool empty_ = true;  // there is no row
};

// A line of text in lines of at most `width` cells, broken at " · " or else at spaces; 0 = as it
// is.
std::vector<std::string> WrapText(std::string_view text, std::size_t width);

}  // namespace memtool::commands
