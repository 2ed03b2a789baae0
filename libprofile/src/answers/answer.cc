#include "memtool/profile/answers/answer.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include "memtool/profile/model/clamped_sums.h"

namespace memtool {

std::string_view TypeOf(GetterKind getter, Unit unit) {
  switch (getter) {
    case GetterKind::kBool:
      return "boolean";
    case GetterKind::kOptionalDouble:
      return "number|null";
    case GetterKind::kDouble:
      return "number";
    case GetterKind::kOptionalInt64:
    case GetterKind::kInt64Function:
      return "integer|null";
    default:
      return unit == Unit::kText || unit == Unit::kAddress ? "string"
             : unit == Unit::kRatio                        ? "number"
             : unit == Unit::kNested                       ? "any"
                                                           : "integer";
  }
}

std::string AddressText(std::uint64_t address) {
  return fmt::format(FMT_COMPILE("0x{:x}"), address);
}

void AnswerHead::Add(const Selection& selection) {
  Add(selection.source(), selection.name(), selection.moment().text, selection.history());
  if (sample_type.empty()) {
    sample_type = selection.choice().name;
    unit = IsBytes(selection.choice().role) ? "bytes" : selection.choice().unit;
  }
  if (selection.sums().saturated) {
    NoteClampedSums(diagnostics);
  }
}

void AnswerHead::Add(const Recording& recording, std::string_view path, std::string_view moment,
                     const HistoryIndex* index) {
  inputs.push_back({.path = path == "-" ? "standard input" : std::string(path),
                    .format = recording.metadata.format,
                    .moment = std::string(moment)});
  AddDiagnostics(recording, index, diagnostics);
}

}  // namespace memtool
