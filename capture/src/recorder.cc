#include "recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "base.h"
#include "encoder.h"
#include "objects.h"
#include "python.h"
#include "sink.h"
#include "stacks.h"

namespace memtool::capture {

namespace {

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

struct NameKey {
  std::uint64_t low;
  std::uint64_t high;
  friend bool operator==(const NameKey&, const NameKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const { return Mix(low, high); }
};

// Everything behind the log's lock.
struct Log {
  Sink sink;
  FixedTable<LedgerKey, 4096> ledgers;
  FixedTable<LaneKey, std::size_t{1} << 15U> lanes;
  FixedTable<NameKey, std::size_t{1} << 14U> names;
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
  std::uint64_t lost = 0;             // events that found no file
  std::uint64_t unknown_entries = 0;  // handed out before the log, too
};

Log g_log;
Lock g_lock;
std::atomic<bool> g_on{false};
std::atomic<std::uint32_t> g_epoch{1};
std::atomic<bool> g_snapshot_wanted{false};

void NewChunk() {
  if (g_log.chunk != g_log.sink.chunk()) {
    g_log.chunk = g_log.sink.chunk();
    g_log.last_time = g_log.sink.chunk_time();
    g_log.last_key_value = 0;
    g_log.last_lane = 0;
    g_log.last_stack = 0;
    g_log.first = true;
  }
}

std::uint8_t* Begin(std::size_t most, std::int64_t now) {
  std::uint8_t* at = g_log.sink.Begin(most, now);
  if (at != nullptr) {
    NewChunk();
  }
  return at;
}

void Time(Encoder& out, std::int64_t now) {
  out.Varint(now > g_log.last_time ? static_cast<std::uint64_t>(now - g_log.last_time) : 0);
  g_log.last_time = now > g_log.last_time ? now : g_log.last_time;
}

void CountEvent() {
  wire::Header& header = *g_log.sink.header();
  ++header.events;
  header.unknown_entries = g_log.unknown_entries;
}

void CountDrop() {
  if (wire::Header* header = g_log.sink.header(); header != nullptr) {
    ++header->dropped;
  } else {
    ++g_log.lost;
  }
}

// The calling thread's id of this log.
std::uint32_t ThreadId(std::int64_t now) {
  const std::uint32_t epoch = g_epoch.load(std::memory_order_relaxed);
  if (t_state.epoch == epoch && t_state.thread_id != 0) {
    return t_state.thread_id;
  }
  std::uint8_t* at = Begin(kPlainRecord, now);
  if (at == nullptr) {
    return 0;
  }
  t_state.epoch = epoch;
  t_state.thread_id = ++g_log.threads;
  const auto tid = static_cast<std::uint64_t>(syscall(SYS_gettid));
  char name[16] = "";
  syscall(SYS_prctl, 16 /* PR_GET_NAME */, name, 0, 0, 0);
  Encoder out(at);
  out.Begin(wire::Tag::kThread);
  out.Varint(t_state.thread_id);
  out.Varint(tid);
  out.Text(name, CutLength(name, sizeof name));
  g_log.sink.Commit(out.at());
  return t_state.thread_id;
}

std::uint32_t LedgerId(const Book& book, std::int64_t now) {
  const std::uint64_t packed =
      static_cast<std::uint64_t>(book.space) | static_cast<std::uint64_t>(book.kind) << 8U |
      static_cast<std::uint64_t>(book.level) << 16U |
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(book.device)) << 32U;
  bool added = false;
  const std::uint32_t id = g_log.ledgers.Find({packed, book.name}, &added);
  if (id == 0 || !added) {
    return id;
  }
  const std::size_t name = CutLength(book.name, wire::kMaxText);
  std::uint8_t* at = Begin(kPlainRecord + name, now);
  if (at == nullptr) {
    return 0;
  }
  Encoder out(at);
  out.Begin(wire::Tag::kLedger);
  out.Varint(id);
  out.Varint(static_cast<std::uint64_t>(book.space));
  out.Varint(static_cast<std::uint64_t>(book.kind));
  out.Varint(static_cast<std::uint64_t>(book.level));
  out.Varint(static_cast<std::uint64_t>(std::int64_t{book.device} + 1));
  out.Text(book.name, name);
  g_log.sink.Commit(out.at());
  return id;
}

std::uint32_t CurrentTag() {
  const std::uint32_t depth = t_state.tag_depth;
  return depth == 0 || t_state.epoch != g_epoch.load(std::memory_order_relaxed)
             ? 0
             : t_state.tags[depth > 16 ? 15 : depth - 1];
}

// 0 when the log has stopped or a table is full (then the event is dropped and counted).
std::uint32_t LaneId(const Book& book, std::int64_t now) {
  const std::uint32_t thread = ThreadId(now);
  const std::uint32_t ledger = LedgerId(book, now);
  if (thread == 0 || ledger == 0) {
    return 0;
  }
  const LaneKey key{std::uint64_t{thread} << 32U | ledger, book.context, book.stream, book.pool,
                    CurrentTag()};
  if (g_log.last_key_lane != 0 && key == g_log.last_key) {
    return g_log.last_key_lane;
  }
  bool added = false;
  const std::uint32_t id = g_log.lanes.Find(key, &added);
  if (id == 0) {
    return 0;
  }
  if (added) {
    std::uint8_t* at = Begin(kPlainRecord, now);
    if (at == nullptr) {
      return 0;
    }
    Encoder out(at);
    out.Begin(wire::Tag::kLane);
    out.Varint(id);
    for (const std::uint64_t field : {std::uint64_t{thread}, std::uint64_t{ledger}, key.context,
                                      key.stream, key.pool, key.tag}) {
      out.Varint(field);
    }
    g_log.sink.Commit(out.at());
  }
  g_log.last_key = key;
  g_log.last_key_lane = id;
  return id;
}

std::uint32_t Stack(const RawStack& stack, std::int64_t now) {
  bool folded = false;
  const std::uint32_t id = InternStack(stack, g_log.sink, now, &folded);
  if (wire::Header* header = g_log.sink.header(); header != nullptr) {
    header->folded += folded ? 1 : 0;
    header->unwind_stops += stack.ended_early ? 1 : 0;
    header->python_state = static_cast<std::uint32_t>(Python::State());
    header->python_version = Python::Version();
  }
  return id;
}

// One of the two frequent events. `stack` is null for frees.
void WriteHot(const Book& book, std::uint64_t key, std::uint64_t size, std::uint32_t stack,
              std::uint8_t flags, std::int64_t now) {
  const std::uint32_t lane = LaneId(book, now);
  std::uint8_t* at = lane == 0 ? nullptr : Begin(kPlainRecord, now);
  if (at == nullptr) {
    return CountDrop();
  }
  const bool is_free = (flags & wire::kHotFree) != 0;
  const auto difference = static_cast<std::int64_t>(key - g_log.last_key_value);
  const bool near = (difference & ((1 << wire::kKeyShift) - 1)) == 0;
  const bool even = (size & ((1U << wire::kSizeShift) - 1)) == 0;
  const bool new_lane = g_log.first || lane != g_log.last_lane;
  const bool new_stack = !is_free && (stack != g_log.last_stack || g_log.last_stack == 0);
  flags |= wire::kHot;
  flags |= near ? 0 : wire::kHotFarKey;
  flags |= even || is_free ? 0 : wire::kHotOddSize;
  flags |= new_lane ? wire::kHotNewLane : 0;
  flags |= new_stack ? wire::kHotNewStack : 0;
  Encoder out(at);
  out.Byte(flags);
  Time(out, now);
  if (new_lane) {
    out.Varint(lane);
  }
  out.ZigZag(near ? difference >> wire::kKeyShift : difference);
  if (!is_free) {
    out.Varint(even ? size >> wire::kSizeShift : size);
  }
  if (new_stack) {
    out.Varint(stack);
  }
  g_log.first = false;
  g_log.last_lane = lane;
  g_log.last_key_value = key;
  g_log.last_stack = is_free ? g_log.last_stack : stack;
  CountEvent();
  g_log.sink.Commit(out.at());
}

}  // namespace

bool Recording() {
  return g_on.load(std::memory_order_relaxed);
}

void SetRecording(bool on) {
  g_on.store(on, std::memory_order_relaxed);
}

void WantSnapshot() {
  g_snapshot_wanted.store(true, std::memory_order_relaxed);
}

namespace {

void SnapshotIfWanted() {
  if (g_snapshot_wanted.load(std::memory_order_relaxed) && g_snapshot_wanted.exchange(false)) {
    RecordMark("snapshot", 0);
  }
}

}  // namespace

void RecordAlloc(const Book& book, std::uint64_t key, std::uint64_t size, bool estimated) {
  SnapshotIfWanted();
  RawStack stack;
  CaptureStack(stack);
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const Hold hold(g_lock);
  WriteHot(book, key, size, Stack(stack, now), estimated ? wire::kHotEstimated : std::uint8_t{0},
           now);
}

void RecordFree(const Book& book, std::uint64_t key) {
  SnapshotIfWanted();
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const Hold hold(g_lock);
  WriteHot(book, key, 0, 0, wire::kHotFree, now);
}

void RecordPlain(wire::Tag tag, const Book& book, const Numbers& numbers) {
  RawStack stack;
  if (numbers.with_stack) {
    CaptureStack(stack);
  }
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const Hold hold(g_lock);
  const std::uint32_t stack_id = numbers.with_stack ? Stack(stack, now) : 0;
  const std::uint32_t lane = LaneId(book, now);
  std::uint8_t* at = lane == 0 ? nullptr : Begin(kPlainRecord, now);
  if (at == nullptr) {
    return CountDrop();
  }
  Encoder out(at);
  out.Begin(tag);
  Time(out, now);
  out.Varint(lane);
  if (numbers.with_stack) {
    out.Varint(stack_id);
  }
  for (std::uint32_t i = 0; i < numbers.count; ++i) {
    out.Varint(numbers.values[i]);
  }
  CountEvent();
  g_log.sink.Commit(out.at());
}

void RecordFreeFailed(const Book& book, std::uint64_t key, std::uint64_t status) {
  RecordPlain(wire::Tag::kFreeFailed, book, {.values = {key, status}, .count = 2});
}

void RecordFailed(const Book& book, std::uint64_t size, std::uint64_t status,
                  std::uint64_t free_bytes) {
  RecordPlain(wire::Tag::kFailed, book,
              {.values = {size, status, free_bytes + 1}, .count = 3, .with_stack = true});
}

void RecordMark(const char* name, std::int64_t value) {
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const std::size_t length = CutLength(name, wire::kMaxText);
  const Hold hold(g_lock);
  const std::uint32_t lane = LaneId(Book{}, now);
  std::uint8_t* at = lane == 0 ? nullptr : Begin(kPlainRecord + length, now);
  if (at == nullptr) {
    return CountDrop();
  }
  Encoder out(at);
  out.Begin(wire::Tag::kMark);
  Time(out, now);
  out.Varint(lane);
  out.ZigZag(value);
  out.Text(name, length);
  CountEvent();
  g_log.sink.Commit(out.at());
}

void PushTag(const char* name) {
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const std::size_t length = CutLength(name, wire::kMaxText);
  NameKey key{19, length};
  for (std::size_t i = 0; i < length; ++i) {
    key.low = Mix(key.low, static_cast<unsigned char>(name[i]));
    key.high = Mix(key.high + 1, static_cast<unsigned char>(name[i]));
  }
  const Hold hold(g_lock);
  if (t_state.epoch != g_epoch.load(std::memory_order_relaxed)) {
    t_state.tag_depth = 0;
    ThreadId(now);
  }
  bool added = false;
  std::uint32_t id = g_log.names.Find(key, &added);
  if (added) {
    if (std::uint8_t* at = Begin(kPlainRecord + length, now); at != nullptr) {
      Encoder out(at);
      out.Begin(wire::Tag::kTagName);
      out.Varint(id);
      out.Text(name, length);
      g_log.sink.Commit(out.at());
    } else {
      id = 0;
    }
  }
  if (t_state.tag_depth < 16) {
    t_state.tags[t_state.tag_depth] = id;
  }
  ++t_state.tag_depth;
}

void PopTag() {
  t_state.tag_depth -= t_state.tag_depth > 0 ? 1 : 0;
}

Totals GetTotals() {
  const Hold hold(g_lock);
  const wire::Header* header = g_log.sink.header();
  return header == nullptr
             ? Totals{0, g_log.lost, 0}
             : Totals{header->events, header->dropped + g_log.lost, header->committed};
}

const char* LogPath() {
  return g_log.sink.path();
}

void CountUnknownEntry() {
  const Hold hold(g_lock);
  ++g_log.unknown_entries;
  if (wire::Header* header = g_log.sink.header(); header != nullptr) {
    header->unknown_entries = g_log.unknown_entries;
  }
}

void RecordBackend(wire::Backend backend, std::uint32_t status, const char* subscriber) {
  const Hold hold(g_lock);
  g_log.sink.SetBackend(backend, status, subscriber);
  if (status != 0) {
    Begin(kPlainRecord, Now(CLOCK_MONOTONIC));
  }
}

void CloseLog() {
  const Hold hold(g_lock);
  if (g_log.sink.header() != nullptr && !g_log.sink.stopped()) {
    const std::int64_t now = Now(CLOCK_MONOTONIC);
    if (std::uint8_t* at = Begin(kPlainRecord, now); at != nullptr) {
      Encoder out(at);
      out.Begin(wire::Tag::kEnd);
      Time(out, now);
      g_log.sink.Commit(out.at());
    }
  }
  g_log.sink.Close();
}

void BeforeFork() {
  g_lock.Acquire();
}

void AfterForkInParent() {
  g_lock.Release();
}

void AfterForkInChild() {
  g_lock.Reset();
  Objects::ResetLock();
  std::uint64_t parent = 0;
  g_log.sink.Forget(&parent);
  g_log.ledgers.Clear();
  g_log.lanes.Clear();
  g_log.names.Clear();
  g_log.last_key_lane = 0;
  g_log.chunk = 0;
  g_log.threads = 0;
  g_log.lost = 0;
  ForgetStacks();
  g_epoch.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace memtool::capture
