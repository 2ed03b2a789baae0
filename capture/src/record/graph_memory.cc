#include "record/graph_memory.h"

#include "base/lock.h"
#include "record/recorder.h"

namespace memtool::capture {

namespace {

Lock g_held_lock;
std::uint64_t g_held[kMaxGraphDevices];

}  // namespace

void RecordGraphMemory(std::int32_t device, std::uint64_t bytes) {
  const LockGuard guard(g_held_lock);
  if (g_held[device] == bytes) {
    return;
  }
  const auto key = static_cast<std::uint64_t>(device) + 1;
  if (g_held[device] != 0) {
    RecordFree({.space = wire::Space::kGraphs, .name = "free"}, key);
  }
  if (bytes != 0) {
    RecordAlloc({.space = wire::Space::kGraphs, .device = device, .name = "graphs"}, key, bytes);
  }
  g_held[device] = bytes;
}

void ForgetGraphMemory() {
  g_held_lock.Reset();
  for (std::uint64_t& held : g_held) {
    held = 0;
  }
}

}  // namespace memtool::capture
