#include "ascend/csv/bad_rows.h"

#include <fmt/format.h>

namespace memtool::formats::ascend {

void BadRows::MoveTo(RecordingBuilder& builder, std::string_view what) const {
  if (count_ > 0) {
    builder.AddDiagnostic({.severity = Severity::kDamage,
                           .code = "bad_row",
                           .message = fmt::format("{} (first: line {})", what, line_),
                           .offset = offset_,
                           .count = count_});
  }
}

}  // namespace memtool::formats::ascend
