// Any input into every format that can be written, and back; and what cutting, redacting and
// merging must leave alone.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/reading.h"
#include "common/recording_text.h"
#include "common/round_trip.h"
#include "memtool/formats/open.h"
#include "memtool/profile/history/cut.h"
#include "memtool/profile/history/redact.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/rows/merge.h"
#include "memtool/profile/select/at_moment.h"
#include "targets.h"

namespace {

using namespace memtool;
using namespace memtool::fuzz;

void Samples(const Recording& recording) {
  RequireProfileReturns(recording);
  RequireDumpSums(recording);
  RequireFoldedSums(recording);
  const MergeInput twice[] = {{&recording, 1}, {&recording, -1}};
  if (const auto nothing = Merge(twice)) {
    Require(nothing->profile->size() == 0, "something is left of a profile less itself");
  }
}

void Histories(const HistoryIndex& index) {
  RequireSnapshotReturns(index.recording());
  std::vector<EventRange> all;
  for (std::size_t trace = 0; trace < index.history().traces.size(); ++trace) {
    const auto count = static_cast<std::int64_t>(index.history().traces[trace].event_count);
    all.push_back({.trace = trace, .first = 0, .last = count - 1});
  }
  if (const auto cut = CutHistory(index, all)) {
    RequireSnapshotReturns(cut->recording);
  }
  for (const char* text : {"end", "peak"}) {
    if (const auto at = AtMoment(index, *ParseMoment(text), "")) {
      Samples(*at->recording);
    }
  }
}

}  // namespace

int memtool::fuzz::FuzzWriters(const std::uint8_t* data, std::size_t size) {
  formats::OpenOptions options;
  options.limits = SmallLimits();
  auto recording = formats::OpenRecording(
      formats::MakeMemorySource(std::as_bytes(std::span(data, size))), "input", options);
  if (!recording) {
    return 0;
  }
  RequireContainerReturns(*recording);
  if (recording->profile) {
    Samples(*recording);
    Samples(Redact(*recording, "salt"));
  }
  if (recording->history) {
    Histories(HistoryIndex(*std::move(recording)));
  }
  return 0;
}
