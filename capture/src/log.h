// What the recorder's parts share: the state behind the log's lock, and the way in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base.h"
#include "encoder.h"
#include "names.h"
#include "process.h"
#include "recorder.h"
#include "sink.h"

namespace memtool::capture {

struct LedgerKey {
  std::uint64_t packed;  // space, kind, level, device
  const char* name;      // of static text or of a domain: compared by place
  friend bool operator==(const LedgerKey&, const LedgerKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const {
    return Mix(Mix(13, packed), reinterpret_cast<std::uintptr_t>(name));
  }
};

struct LaneKey {
  std::uint64_t thread_ledger;
  std::uint64_t context;
  std::uint64_t stream;
  std::uint64_t pool;
  std::uint64_t tag;
  friend bool operator==(const LaneKey&, const LaneKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const {
    return Mix(Mix(Mix(Mix(Mix(17, thread_ledger), context), stream), pool), tag);
  }
};

// A mark that waits for the first event, which makes the log.
struct WaitingMark {
  std::uint32_t name;
  std::int64_t value;
  std::int64_t time;
};

// Everything behind the log's lock.
struct Log {
  Sink sink;
  FixedTable<LedgerKey, 4096> ledgers;
  FixedTable<LaneKey, std::size_t{1} << 15U> lanes;
  // Beside them, for events that found them full: without stream, tag and own thread.
  FixedTable<LaneKey, std::size_t{1} << 12U> shared_lanes;
  std::uint64_t tags_defined[kMostNames / 64 + 1] = {};
  LaneKey last_key{};
  std::uint32_t last_key_lane = 0;
  // Differences within a chunk.
  std::uint32_t chunk = 0;
  std::int64_t last_time = 0;
  std::uint64_t last_key_value = 0;
  std::uint32_t last_lane = 0;
  std::uint32_t last_stack = 0;
  bool first = true;
  std::uint32_t threads = 0;
  std::uint32_t other_threads = 0;    // the thread of the shared lanes; 0 = not written yet
  std::uint64_t lost = 0;             // events that found no file
  std::uint64_t unknown_entries = 0;  // handed out before the log, too
  WaitingMark waiting[64] = {};
  std::uint32_t waiting_count = 0;
};

extern Log g_log;
extern Lock g_lock;
extern std::atomic<std::uint32_t> g_epoch;  // one per log of the process

void NewChunk();

// Room for a record, as Sink::Begin gives it.
inline std::uint8_t* Begin(std::size_t most, std::int64_t now) {
  std::uint8_t* at = g_log.sink.Begin(most, now);
  if (at != nullptr && g_log.chunk != g_log.sink.chunk()) {
    NewChunk();
  }
  return at;
}

// Makes the log, with the marks that wait for it. False: the log has stopped, or cannot be made
// now.
bool OpenLog(std::int64_t now);

// Before anything of an event is looked up: a definition that found no file would never be written.
inline bool Ready(std::int64_t now) {
  return g_log.sink.header() != nullptr || OpenLog(now);
}

inline void Time(Encoder& out, std::int64_t now) {
  out.Varint(now > g_log.last_time ? static_cast<std::uint64_t>(now - g_log.last_time) : 0);
  g_log.last_time = now > g_log.last_time ? now : g_log.last_time;
}

inline void CountEvent() {
  wire::Header& header = *g_log.sink.header();
  ++header.events;
  header.unknown_entries = g_log.unknown_entries;
}
void CountDrop();
void WriteMark(const Name& name, std::int64_t value, std::int64_t now);
// The lane of an event; 0 when the log has stopped or all tables are full (then it is dropped).
// What an allocation belongs to is not said again of its free.
std::uint32_t LaneId(const Book& book, std::int64_t now, bool is_free = false);

// Counters of the header that may run before there is one, or outside of the lock.
struct Counters {
  std::atomic<std::uint64_t> lost_tags;
  std::atomic<std::uint64_t> lost_domains;
};
extern Counters g_counters;
void WriteCounters();

// Of ThreadState::inside.
enum : std::uint32_t { kOutside = 0, kInside = 1, kInFork = 2 };

// What a thread that gets out has to settle: events that it missed, and kRenew.
extern std::atomic<std::uint32_t> g_after;
void SettleAfter();
void RenewForked();

// Around whatever takes a lock of the library. A signal handler may interrupt its own thread there
// and call in again, fork or exit: it must not wait for itself. Also where a child is noticed that
// was forked without the C library.
class Inside {
 public:
  Inside() : entered_(t_state.inside == 0) {
    if (entered_) {
      t_state.inside = kInside;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (Forked()) {
        RenewForked();
      }
    }
  }
  ~Inside() {
    if (entered_) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      t_state.inside = kOutside;
      if (g_after.load(std::memory_order_relaxed) != 0) {
        SettleAfter();
      }
    }
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  // False: this thread is inside already.
  explicit operator bool() const { return entered_; }

 private:
  bool entered_;
};

// An event of a thread that is inside already: counted when it gets out.
void CountMissed();

}  // namespace memtool::capture
