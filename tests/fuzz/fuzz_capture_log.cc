// The reader of capture logs: a whole file, or (bytes without the magic) the records of one open
// chunk, which no checksum hides from the fuzzer. What it accepts must replay and sum up.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "../../capture/wire.h"
#include "common/reading.h"
#include "memtool/profile/replay/replay.h"
#include "targets.h"

namespace {

using namespace memtool;

std::vector<std::byte> AsLog(std::span<const std::byte> bytes) {
  if (bytes.size() >= wire::kMagic.size() &&
      std::memcmp(bytes.data(), wire::kMagic.data(), wire::kMagic.size()) == 0) {
    return {bytes.begin(), bytes.end()};
  }
  constexpr std::size_t kBefore = wire::kHeaderBytes + sizeof(wire::ChunkHeader);
  const std::size_t size = std::min(bytes.size(), wire::kChunkBytes - sizeof(wire::ChunkHeader));
  std::vector<std::byte> log(kBefore + size);
  wire::Header header{};
  header.magic = wire::kMagic;
  header.version = wire::kVersion;
  header.byte_order = wire::kByteOrder;
  header.header_bytes = wire::kHeaderBytes;
  header.chunk_bytes = wire::kChunkBytes;
  header.committed = log.size();
  const wire::ChunkHeader chunk{.magic = wire::kChunkMagic};
  std::memcpy(log.data(), &header, sizeof header);
  std::memcpy(log.data() + wire::kHeaderBytes, &chunk, sizeof chunk);
  std::memcpy(log.data() + kBefore, bytes.data(), size);
  return log;
}

}  // namespace

int memtool::fuzz::FuzzCaptureLog(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::byte> log = AsLog(std::as_bytes(std::span(data, size)));
  const auto recording = fuzz::ReadAs("capture_log", log);
  if (!recording) {
    return 0;
  }
  for (const Trace& trace : recording->history->traces) {
    const TraceSummary summary = Replay(*recording, trace).Summarize();
    // Frees are only of allocations that were seen, so live memory is never negative.
    if (summary.end_bytes < 0 || summary.peak_bytes < summary.end_bytes) {
      std::abort();
    }
  }
  return 0;
}
