#include "leaks/leaks_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "leaks/leaks_verdict.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxShapeWidth = 24;

std::string KindText(const Growth& growth) {
  switch (growth.detail) {
    case GrowthDetail::kNone:
    case GrowthDetail::kEven:
    case GrowthDetail::kRepeated:
      return std::string(ToCode(growth.kind));
    case GrowthDetail::kOnce:
      return "one step";
    default:
      return fmt::format("{}, {}", ToCode(growth.kind), ToCode(growth.detail));
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
  const std::size_t width = std::min(kMaxShapeWidth, series.size());
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

TableColumns<GrowthRow> LeaksColumns(const LeaksAnswer& answer) {
  TableColumns<GrowthRow> columns(kLeaksFields, answer.bytes(),
                                  {"slope", "first", "last", "grew", "fit", "kept_steps", "device",
                                   "kind", "series", "name", "file", "via"});
  columns["grew"].get = [](const GrowthRow& row) {
    return OfText(row.growth.grew, row.growth.steps);
  };
  columns["kept_steps"].get = [](const GrowthRow& row) {
    return row.retained ? Cell(OfText(row.retained->steps, row.series.size())) : Cell();
  };
  columns.KeepIf(answer.history.has_value(), "kept_steps");
  columns.KeepIf(std::any_of(answer.rows.begin(), answer.rows.end(),
                             [](const GrowthRow& row) { return !row.device.empty(); }),
                 "device");
  if (answer.in_parts()) {
    columns["slope"].style.title = "PER PART";
  }
  columns["kind"].get = [](const GrowthRow& row) { return KindText(row.growth); };
  columns["series"].get = [](const GrowthRow& row) { return Sparkline(row.series); };
  PutPlaces(answer.by.kind == By::Kind::kFrame, columns);
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
