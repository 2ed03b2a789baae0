#include "record/process_log.h"

#include <cstring>
#include <ctime>

#include "base/clock.h"
#include "record/fork_watch.h"
#include "record/graph_memory.h"
#include "stacks/captured_stack.h"
#include "stacks/stack_table.h"

namespace memtool::capture {

// Libraries may allocate before the constructors of this one run.
constinit Log g_log;
constinit Lock g_lock;
std::atomic<std::uint32_t> g_epoch{1};

std::atomic<std::uint32_t> g_after{0};
Counters g_counters{};

namespace {

constexpr std::uint32_t kRenew = std::uint32_t{1} << 31U;

// Starts the log of a forked child from nothing. This is its only thread, or the others are
// waiting.
void Renew() {
  g_lock.Reset();
  ResetStackLocks();
  std::uint64_t parent = 0;
  g_log.sink.Forget(&parent);
  g_log.domains.Clear();
  g_log.attribute_sets.Clear();
  g_log.shared_sets.Clear();
  g_log.recorded_once.Clear();
  g_log.other_threads = 0;
  memset(g_log.tags_defined, 0, sizeof g_log.tags_defined);
  g_log.newest_set = 0;
  g_log.chunk = 0;
  g_log.threads = 0;
  g_log.lost = 0;
  g_log.waiting_count = 0;
  g_counters.lost_tags.store(0, std::memory_order_relaxed);
  g_counters.lost_domains.store(0, std::memory_order_relaxed);
  g_after.store(0, std::memory_order_relaxed);
  ForgetStacks();
  ResetStackBuffers();
  ForgetGraphMemory();
  g_epoch.fetch_add(1, std::memory_order_relaxed);
  ForkSettled();
}

}  // namespace

void NewChunk() {
  g_log.chunk = g_log.sink.chunk();
  g_log.last_time = g_log.sink.chunk_time();
  g_log.last_key_value = 0;
  g_log.last_set = 0;
  g_log.last_stack = 0;
  g_log.first = true;
  WriteCounters();
}

bool OpenLog(std::int64_t now) {
  const std::uint32_t marks = g_log.waiting_count;
  const std::int64_t start =
      marks != 0 && g_log.waiting[0].time < now ? g_log.waiting[0].time : now;
  if (Begin(kPlainRecord, start) == nullptr) {
    return false;
  }
  g_log.waiting_count = 0;
  for (std::uint32_t i = 0; i < marks; ++i) {
    const WaitingMark& mark = g_log.waiting[i];
    WriteMark(ToName(mark.name), mark.value, mark.time);
  }
  return true;
}

void WriteCounters() {
  if (wire::Header* header = g_log.sink.header(); header != nullptr) {
    header->lost_tags = g_counters.lost_tags.load(std::memory_order_relaxed);
    header->lost_domains = g_counters.lost_domains.load(std::memory_order_relaxed);
    header->dropped += g_log.lost;
    g_log.lost = 0;
  }
}

void CountLostDomain() {
  g_counters.lost_domains.fetch_add(1, std::memory_order_relaxed);
}

void CountDrop() {
  if (wire::Header* header = g_log.sink.header(); header != nullptr) {
    ++header->dropped;
  } else {
    ++g_log.lost;
  }
}

void CountMissed() {
  // After an exit() in a handler the interrupted thread never leaves.
  if (wire::Header* header = g_log.sink.header(); header != nullptr && g_log.sink.stopped()) {
    __atomic_add_fetch(&header->dropped, 1, __ATOMIC_RELAXED);
    return;
  }
  g_after.fetch_add(1, std::memory_order_relaxed);
}

void SettleAfter() {
  const Inside inside;  // has nothing to settle itself, unless a handler intervenes
  const std::uint32_t after = g_after.exchange(0);
  if ((after & kRenew) != 0) {
    return Renew();
  }
  const LockGuard guard(g_lock);
  for (std::uint32_t i = 0; i < after; ++i) {
    CountDrop();
  }
}

void RenewForked() {
  if (SettleFork()) {
    Renew();
  }
}

Totals GetTotals() {
  { const Inside of_this_process; }
  const wire::Header* header = g_log.sink.header();
  const std::uint64_t missed = g_log.lost + (g_after.load(std::memory_order_relaxed) & ~kRenew);
  return header == nullptr ? Totals{0, missed, 0}
                           : Totals{header->events, header->dropped + missed, header->committed};
}

const char* LogPath() {
  { const Inside of_this_process; }
  return g_log.sink.path();
}

void CountUnknownEntry() {
  const Inside inside;
  if (inside) {
    const LockGuard guard(g_lock);
    ++g_log.unknown_entries;
    if (wire::Header* header = g_log.sink.header(); header != nullptr) {
      header->unknown_entries = g_log.unknown_entries;
    }
  }
}

void RecordBackend(wire::Backend backend, std::uint32_t status, const char* subscriber) {
  const Inside inside;
  if (!inside) {
    return;
  }
  const LockGuard guard(g_lock);
  g_log.sink.SetBackend(backend, status, subscriber);
  if (status != 0) {
    OpenLog(Now(CLOCK_MONOTONIC));
  }
}

void RecordBlindSpots(BlindSpots (*look)()) {
  const Inside inside;
  if (!inside || g_log.sink.backend() != wire::Backend::kPreload ||
      (g_log.sink.header() == nullptr && !Recording())) {
    return;
  }
  const BlindSpots found = look();
  if (found.libraries == 0 && found.drivers == 0) {
    return;
  }
  const LockGuard guard(g_lock);
  if (Ready(Now(CLOCK_MONOTONIC))) {
    g_log.sink.header()->past_libraries = found.libraries;
    g_log.sink.header()->past_drivers = found.drivers;
  }
}

void CloseLog() {
  const Inside inside;
  if (!inside) {
    // exit() in a signal handler that interrupted this library, which never finishes what it was
    // doing. The lock is released for threads that the program may still wait for.
    g_log.sink.Abandon();
    return g_lock.Release();
  }
  const LockGuard guard(g_lock);
  if (g_log.sink.header() != nullptr && !g_log.sink.stopped()) {
    const std::int64_t now = Now(CLOCK_MONOTONIC);
    if (std::uint8_t* at = Begin(kPlainRecord, now); at != nullptr) {
      Encoder out(at);
      out.Begin(wire::Tag::kEnd);
      Time(out, now);
      g_log.sink.Commit(out.at());
    }
  }
  WriteCounters();
  g_log.sink.Close();
}

void BeforeFork() {
  if (t_state.inside == kOutside) {
    { const Inside of_this_process; }
    t_state.inside = kInFork;
    g_lock.Acquire();
    LockStacks();
  }
}

void AfterForkInParent() {
  if (t_state.inside == kInFork) {
    UnlockStacks();
    g_lock.Release();
    t_state.inside = kOutside;
  }
}

void AfterForkInChild() {
  if (t_state.inside == kInside) {
    // fork() in a signal handler that interrupted this library, which continues afterwards where it
    // was, in memory that is the child's alone; what it writes there is discarded.
    g_log.sink.Detach();
    g_lock.Reset();
    ResetStackLocks();
    g_after.store(kRenew, std::memory_order_relaxed);
    return ForkSettled();
  }
  t_state.inside = kOutside;
  Renew();
}

}  // namespace memtool::capture
