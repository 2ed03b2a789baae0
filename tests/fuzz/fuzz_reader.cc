// One reader alone, whatever its sniffing says: `reader`, its name. What it accepts must
// replay, be summed up and told.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/reading.h"
#include "common/recording_text.h"
#include "common/round_trip.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/select/at_moment.h"
#include "targets.h"

int memtool::fuzz::FuzzReader(std::string_view reader, const std::uint8_t* data, std::size_t size) {
  using namespace memtool;
  using namespace memtool::fuzz;
  auto recording = ReadAs(reader, std::as_bytes(std::span(data, size)));
  if (!recording) {
    return 0;
  }
  if (recording->profile) {
    RequireProfileReturns(*recording);
  }
  if (recording->history) {
    (void)HistoryText(*recording);
    const HistoryIndex index(*std::move(recording));
    for (const Trace& trace : index.history().traces) {
      const TraceSummary& summary = index.summary(trace);
      Require(summary.peak_bytes >= summary.end_bytes, "a peak below the end");
    }
    if (const auto end = AtMoment(index, *ParseMoment("end"), "")) {
      RequireFoldedSums(*end->recording);
    }
  }
  return 0;
}
