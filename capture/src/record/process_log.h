// What the recorder's parts share: the log of this process, the lock around it, and the way in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/fixed_table.h"
#include "base/lock.h"
#include "base/thread_state.h"
#include "log/encoder.h"
#include "log/sink.h"
#include "record/attribute_sets.h"
#include "record/fork_watch.h"
#include "record/names.h"
#include "record/recorder.h"

namespace memtool::capture {

// A mark from before the first event, which makes the log.
struct WaitingMark {
  std::uint32_t name;
  std::int64_t value;
  std::int64_t time;
};

// Numbers that are recorded once.
struct OnceKey {
  std::uint64_t tag_kind;
  std::uint64_t values[4];
  friend bool operator==(const OnceKey&, const OnceKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const {
    return Mix(Mix(Mix(Mix(Mix(19, tag_kind), values[0]), values[1]), values[2]), values[3]);
  }
};

// Everything that the log's lock protects.
struct Log {
  Sink sink;
  FixedTable<DomainKey, 4096> domains;
  FixedTable<AttributeSetKey, std::size_t{1} << 15U> attribute_sets;
  // For events that found the tables full: without stream and tag, and all with one thread.
  FixedTable<AttributeSetKey, std::size_t{1} << 12U> shared_sets;
  FixedTable<OnceKey, 1024> recorded_once;
  std::uint64_t tags_defined[kMaxNames / 64 + 1] = {};
  AttributeSetKey newest_set_key{};  // looked up last, and probably next
  std::uint32_t newest_set = 0;
  // The bases of delta encoding, which starts anew in each chunk.
  std::uint32_t chunk = 0;
  std::int64_t last_time = 0;
  std::uint64_t last_key_value = 0;
  std::uint32_t last_set = 0;
  std::uint32_t last_stack = 0;
  bool first = true;
  std::uint32_t threads = 0;
  std::uint32_t other_threads = 0;    // the thread of the shared sets; 0 = not written yet
  std::uint64_t lost = 0;             // events that found no file
  std::uint64_t unknown_entries = 0;  // including those handed out before the log
  WaitingMark waiting[64] = {};
  std::uint32_t waiting_count = 0;
};

extern Log g_log;
extern Lock g_lock;
extern std::atomic<std::uint32_t> g_epoch;  // one per log of the process

void NewChunk();

// Room for a record: Sink::Begin.
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

// To be checked before anything about an event is looked up: a definition made without a file would
// never be written.
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

// Counted without the lock, and before there is a header; WriteCounters puts them into it.
struct Counters {
  std::atomic<std::uint64_t> lost_tags;
  std::atomic<std::uint64_t> lost_domains;
};
extern Counters g_counters;
void WriteCounters();

// Of ThreadState::inside.
enum : std::uint32_t { kOutside = 0, kInside = 1, kInFork = 2 };

// What a thread has to settle when it leaves: events that were missed meanwhile, and kRenew.
extern std::atomic<std::uint32_t> g_after;
void SettleAfter();
void RenewForked();

// Around whatever takes a lock of the library: a signal handler may interrupt its own thread there
// and call in again, fork or exit, and must not wait for itself. A child that was forked without
// the C library is noticed here too.
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

// An event of a thread that is inside already. It is counted when the thread leaves.
void CountMissed();

}  // namespace memtool::capture
