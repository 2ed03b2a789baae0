#include "leaks/leaks_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "leaks/leaks_verdict.h"
#include "output/text/sparkline.h"
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
  columns["series"].get = [](const GrowthRow& row) {
    return Sparkline(row.series, kMaxShapeWidth,
                     *std::min_element(row.series.begin(), row.series.end()));
  };
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
