#include "memtool/profile/model/clamped_sums.h"

#include <algorithm>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

Diagnostic ClampedSums() {
  return {.severity = Severity::kDamage,
          .code = std::string(kClampedSums),
          .message = "some sums exceed the 64-bit range and are clamped to its end"};
}

bool HasClampedSums(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& each) { return each.code == kClampedSums; });
}

void NoteClampedSums(std::vector<Diagnostic>& diagnostics) {
  if (!HasClampedSums(diagnostics)) {
    diagnostics.push_back(ClampedSums());
  }
}

bool HistorySumsFit(const Recording& recording) {
  MagnitudeSum sum;
  if (recording.history) {
    for (const Event& event : recording.history->events) {
      sum.Add(event.action == Action::kOom ? 0 : event.size);
    }
    for (const Trace& trace : recording.history->traces) {
      sum.Add(trace.preexisting_bytes);
      sum.Add(trace.preexisting_reserved);
    }
  }
  if (recording.state) {
    for (const Segment& segment : recording.state->segments) {
      sum.Add(segment.size);
    }
    for (const Block& block : recording.state->blocks) {
      sum.Add(block.requested);
    }
  }
  return sum.Fits();
}

}  // namespace memtool
