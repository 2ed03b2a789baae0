#include "leaks/leaks_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "leaks/leaks_verdict.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kWidestShape = 24;

std::string KindText(const Growth& growth) {
  switch (growth.detail) {
    case GrowthDetail::kNone:
    case GrowthDetail::kEven:
    case GrowthDetail::kRepeated:
      return std::string(CodeOf(growth.kind));
    case GrowthDetail::kOnce:
      return "one step";
    default:
      return fmt::format("{}, {}", CodeOf(growth.kind), CodeOf(growth.detail));
  }
}

std::string OfText(std::size_t part, std::size_t whole) {
  return fmt::format("{} of {}", part, whole);
}

std::string UnknownText(const Growth& counts) {
  return fmt::format(
      "executables of unknown size (the runtime wrote -1): {} at first, {} at last, "
      "more after {} of {} steps; not in the sums",
      FormatCount(counts.first), FormatCount(counts.last), counts.grew, counts.steps);
}

}  // namespace

std::string Sparkline(const std::vector<std::int64_t>& series) {
  constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t width = std::min(kWidestShape, series.size());
  const auto [least, most] = std::minmax_element(series.begin(), series.end());
  const auto low = static_cast<double>(*least);
  const double span = static_cast<double>(*most) - low;
  std::string text;
  for (std::size_t i = 0; i < width; ++i) {
    // The highest value of the column's share, so that no peak is lost.
    const auto from = series.begin() + static_cast<std::ptrdiff_t>(i * series.size() / width);
    const auto to = series.begin() + static_cast<std::ptrdiff_t>((i + 1) * series.size() / width);
    const double height = static_cast<double>(*std::max_element(from, to)) - low;
    const double share = span > 0 ? height / span : 0;
    text += kBlocks[std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7)];
  }
  return text;
}

std::vector<TableColumn<GrowthRow>> LeaksColumns(const LeaksAnswer& answer) {
  const bool frames = answer.by.kind == By::Kind::kFrame;
  const auto column = [&answer](std::string_view key, bool sign = false) {
    return ColumnOf(FieldNamed(kLeaksFields, key), answer.bytes(), sign);
  };
  std::vector<TableColumn<GrowthRow>> columns{column("slope", true), column("first"),
                                              column("last")};
  columns[0].style.growth = true;
  columns[1].style.drop = 4;
  columns[2].style.drop = 3;
  columns.push_back({{.title = "GREW", .drop = 5}, [](const GrowthRow& row) {
                       return OfText(row.growth.grew, row.growth.steps);
                     }});
  columns.push_back(column("fit"));
  columns.back().style.drop = 8;
  if (answer.history) {
    columns.push_back({{.title = "KEPT", .drop = 7}, [](const GrowthRow& row) {
                         return row.kept ? Cell(OfText(row.kept->steps, row.series.size()))
                                         : Cell();
                       }});
  }
  columns.push_back({{.title = "KIND", .left = true, .drop = 2},
                     [](const GrowthRow& row) { return KindText(row.growth); }});
  columns.push_back({{.title = "SHAPE", .left = true, .drop = 6},
                     [](const GrowthRow& row) { return Sparkline(row.series); }});
  columns.push_back(
      {{.title = "WHERE", .left = true, .shrink = true, .key = "name"},
       [frames](const GrowthRow& row) { return frames ? NameText(row.name) : row.name; }});
  columns.push_back(
      {{.title = "PLACE", .left = true, .shrink = true, .drop = 1, .path = true, .key = "file"},
       [](const GrowthRow& row) { return PlaceText(row.file, row.line); }});
  columns.push_back({{.title = "VIA", .left = true, .shrink = true, .drop = 9, .key = "via"},
                     [](const GrowthRow& row) { return ViaText(row.via); }});
  return columns;
}

std::vector<std::string> LeaksNotes(const LeaksAnswer& answer) {
  std::vector<std::string> notes{ConstantText(answer)};
  if (answer.unknown) {
    notes.push_back(UnknownText(*answer.unknown));
  }
  return notes;
}

}  // namespace memtool::commands
