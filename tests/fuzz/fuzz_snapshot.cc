// The reader of PyTorch's snapshots alone: pickles, JSON and pages. What a pickle says must be what
// the same said in JSON says; what was read must survive being written and read.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/pickle_json.h"
#include "common/reading.h"
#include "common/recording_text.h"
#include "common/round_trip.h"
#include "targets.h"

int memtool::fuzz::FuzzSnapshot(const std::uint8_t* data, std::size_t size) {
  using namespace memtool;
  using namespace memtool::fuzz;
  constexpr std::string_view kReader = "torch_snapshot";
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto recording = ReadAs(kReader, bytes);
  if (!recording) {
    return 0;
  }
  if (bytes[0] == std::byte{0x80}) {
    if (const auto json = PickleAsJson(bytes)) {
      const auto twin = ReadAs(kReader, GetBytes(*json));
      if (twin) {
        RequireEqual(HistoryText(*recording), HistoryText(*twin), "JSON says something else");
      }
    }
  }
  RequireSnapshotReturns(*recording);
  return 0;
}
