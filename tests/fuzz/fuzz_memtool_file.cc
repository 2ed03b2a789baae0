// memtool's own container, its checksums made right first. What is accepted must replay, and be the
// same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/container_sums.h"
#include "common/reading.h"
#include "common/recording_text.h"
#include "common/round_trip.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/select/at_moment.h"
#include "targets.h"

int memtool::fuzz::FuzzMemtoolFile(const std::uint8_t* data, std::size_t size) {
  using namespace memtool;
  using namespace memtool::fuzz;
  const auto bytes = WithGoodSums(std::as_bytes(std::span(data, size)));
  auto recording = ReadAs("memtool", bytes);
  if (!recording) {
    return 0;
  }
  RequireContainerReturns(*recording);
  if (recording->profile) {
    RequireDumpSums(*recording);  // labels may be such as no other format has
    RequireFoldedSums(*recording);
  }
  if (recording->history) {
    const HistoryIndex index(*std::move(recording));
    for (const char* text : {"end", "peak"}) {
      if (const auto at = AtMoment(index, *ParseMoment(text), "")) {
        RequireFoldedSums(*at->recording);
      }
    }
  }
  return 0;
}
