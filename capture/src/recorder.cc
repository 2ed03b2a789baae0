#include "recorder.h"

#include <cstring>
#include <ctime>

#include "base.h"
#include "encoder.h"
#include "log.h"
#include "python.h"
#include "sink.h"
#include "stacks.h"

namespace memtool::capture {

namespace {

enum : std::uint8_t { kUnknown, kOff, kOn };

std::atomic<std::uint8_t> g_on{kUnknown};
std::atomic<bool> g_snapshot_wanted{false};

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
  const bool is_free = (flags & wire::kHotFree) != 0;
  const std::uint32_t lane = LaneId(book, now, is_free);
  std::uint8_t* at = lane == 0 ? nullptr : Begin(kPlainRecord, now);
  if (at == nullptr) {
    return CountDrop();
  }
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
  if (g_on.load(std::memory_order_relaxed) == kUnknown) {
    StartUp();
  }
  return g_on.load(std::memory_order_relaxed) == kOn;
}

void SetRecording(bool on) {
  g_on.store(on ? kOn : kOff, std::memory_order_relaxed);
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
  const Inside inside;
  if (!inside) {
    return CountMissed();
  }
  const CapturedStack stack;
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const Hold hold(g_lock);
  if (!Ready(now)) {
    return CountDrop();
  }
  WriteHot(book, key, size, Stack(*stack, now), estimated ? wire::kHotEstimated : std::uint8_t{0},
           now);
}

void RecordFree(const Book& book, std::uint64_t key) {
  SnapshotIfWanted();
  const Inside inside;
  if (!inside) {
    return CountMissed();
  }
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const Hold hold(g_lock);
  if (!Ready(now)) {
    return CountDrop();
  }
  WriteHot(book, key, 0, 0, wire::kHotFree, now);
}

void RecordPlain(wire::Tag tag, const Book& book, const Numbers& numbers) {
  const Inside inside;
  if (!inside) {
    return CountMissed();
  }
  const CapturedStack stack(numbers.with_stack);
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const Hold hold(g_lock);
  if (!Ready(now)) {
    return CountDrop();
  }
  const std::uint32_t stack_id = numbers.with_stack ? Stack(*stack, now) : 0;
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

namespace {

// False when no more can wait.
bool Wait(const Name& name, std::int64_t value, std::int64_t now) {
  constexpr std::size_t kMostWaiting = sizeof g_log.waiting / sizeof g_log.waiting[0];
  const std::uint32_t id = g_log.waiting_count < kMostWaiting ? InternName(name) : 0;
  if (id != 0) {
    g_log.waiting[g_log.waiting_count++] = {id, value, now};
  }
  return id != 0;
}

}  // namespace

void RecordMark(const char* name, std::int64_t value) {
  const Inside inside;
  if (!inside) {
    return CountMissed();
  }
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const Name text{name, CutLength(name, wire::kMaxText)};
  const Hold hold(g_lock);
  if (g_log.sink.header() != nullptr || g_log.sink.stopped()) {
    WriteMark(text, value, now);
  } else if (!Wait(text, value, now)) {
    CountDrop();
  }
}

void WriteMark(const Name& name, std::int64_t value, std::int64_t now) {
  const std::uint32_t lane = Ready(now) ? LaneId(Book{}, now) : 0;
  std::uint8_t* at = lane == 0 ? nullptr : Begin(kPlainRecord + name.length, now);
  if (at == nullptr) {
    return CountDrop();
  }
  Encoder out(at);
  out.Begin(wire::Tag::kMark);
  Time(out, now);
  out.Varint(lane);
  out.ZigZag(value);
  out.Text(name.text, name.length);
  CountEvent();
  g_log.sink.Commit(out.at());
}

}  // namespace memtool::capture
