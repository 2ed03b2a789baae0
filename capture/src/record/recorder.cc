#include "record/recorder.h"

#include <atomic>
#include <ctime>

#include "base/clock.h"
#include "base/lock.h"
#include "base/text.h"
#include "log/encoder.h"
#include "log/sink.h"
#include "record/process_log.h"
#include "stacks/captured_stack.h"
#include "stacks/python.h"
#include "stacks/stack_table.h"

namespace memtool::capture {

namespace {

enum : std::uint8_t { kUnknown, kOff, kOn };

std::atomic<std::uint8_t> g_on{kUnknown};
std::atomic<bool> g_snapshot_wanted{false};

std::uint32_t StackId(const RawStack& stack, std::int64_t now) {
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

// One of the two frequent events. `stack` is 0 for frees.
void WriteCompact(const Attributes& attributes, std::uint64_t key, std::uint64_t size,
                  std::uint32_t stack, std::uint8_t flags, std::int64_t now) {
  const bool is_free = (flags & wire::kCompactFree) != 0;
  const std::uint32_t set = AttributeSetId(attributes, now, is_free);
  std::uint8_t* at = set == 0 ? nullptr : Begin(kPlainRecord, now);
  if (at == nullptr) {
    return CountDrop();
  }
  const auto difference = static_cast<std::int64_t>(key - g_log.last_key_value);
  const bool near = (difference & ((1 << wire::kKeyShift) - 1)) == 0;
  const bool even = (size & ((1U << wire::kSizeShift) - 1)) == 0;
  const bool new_set = g_log.first || set != g_log.last_set;
  const bool new_stack = !is_free && (stack != g_log.last_stack || g_log.last_stack == 0);
  flags |= wire::kCompact;
  flags |= near ? 0 : wire::kCompactFarKey;
  flags |= even || is_free ? 0 : wire::kCompactOddSize;
  flags |= new_set ? wire::kCompactNewAttributes : 0;
  flags |= new_stack ? wire::kCompactNewStack : 0;
  Encoder out(at);
  out.Byte(flags);
  Time(out, now);
  if (new_set) {
    out.Varint(set);
  }
  out.ZigZag(near ? difference >> wire::kKeyShift : difference);
  if (!is_free) {
    out.Varint(even ? size >> wire::kSizeShift : size);
  }
  if (new_stack) {
    out.Varint(stack);
  }
  g_log.first = false;
  g_log.last_set = set;
  g_log.last_key_value = key;
  g_log.last_stack = is_free ? g_log.last_stack : stack;
  CountEvent();
  g_log.sink.Commit(out.at());
}

void SnapshotIfWanted() {
  if (g_snapshot_wanted.load(std::memory_order_relaxed) && g_snapshot_wanted.exchange(false)) {
    RecordMark("snapshot", 0);
  }
}

// What finds the table full is recorded again: better twice than never.
bool RecordedBefore(wire::Tag tag, const Attributes& attributes, const Numbers& numbers) {
  const std::uint64_t* values = numbers.values;
  const auto kind = static_cast<std::uint64_t>(attributes.kind);
  const OnceKey key{.tag_kind = static_cast<std::uint64_t>(tag) | kind << 8U,
                    .values = {values[0], values[1], values[2], values[3]}};
  bool added = false;
  return g_log.recorded_once.Find(key, &added) != g_log.recorded_once.kFull && !added;
}

// From now on a pool's handle may be another pool's.
bool EndsPools(wire::Tag tag, const Numbers& numbers) {
  return tag == wire::Tag::kContextEnd || (tag == wire::Tag::kPool && !numbers.once);
}

// False when no more can wait.
bool Wait(const Name& name, std::int64_t value, std::int64_t now) {
  constexpr std::size_t kMaxWaiting = sizeof g_log.waiting / sizeof g_log.waiting[0];
  const std::uint32_t id = g_log.waiting_count < kMaxWaiting ? InternName(name) : 0;
  if (id != 0) {
    g_log.waiting[g_log.waiting_count++] = {id, value, now};
  }
  return id != 0;
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

void RecordAlloc(const Attributes& attributes, std::uint64_t key, std::uint64_t size,
                 bool estimated) {
  SnapshotIfWanted();
  const Inside inside;
  if (!inside) {
    return CountMissed();
  }
  const CapturedStack stack;
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const LockGuard guard(g_lock);
  if (!Ready(now)) {
    return CountDrop();
  }
  WriteCompact(attributes, key, size, StackId(*stack, now),
               estimated ? wire::kCompactEstimated : std::uint8_t{0}, now);
}

void RecordFree(const Attributes& attributes, std::uint64_t key) {
  SnapshotIfWanted();
  const Inside inside;
  if (!inside) {
    return CountMissed();
  }
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const LockGuard guard(g_lock);
  if (!Ready(now)) {
    return CountDrop();
  }
  WriteCompact(attributes, key, 0, 0, wire::kCompactFree, now);
}

void RecordPlain(wire::Tag tag, const Attributes& attributes, const Numbers& numbers) {
  const Inside inside;
  if (!inside) {
    return CountMissed();
  }
  const CapturedStack stack(numbers.with_stack);
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const LockGuard guard(g_lock);
  if (!Ready(now)) {
    return CountDrop();
  }
  if (numbers.once && RecordedBefore(tag, attributes, numbers)) {
    return;
  }
  if (EndsPools(tag, numbers)) {
    g_log.recorded_once.Clear();
  }
  const std::uint32_t stack_id = numbers.with_stack ? StackId(*stack, now) : 0;
  const std::uint32_t set = AttributeSetId(attributes, now);
  std::uint8_t* at = set == 0 ? nullptr : Begin(kPlainRecord, now);
  if (at == nullptr) {
    return CountDrop();
  }
  Encoder out(at);
  out.Begin(tag);
  Time(out, now);
  out.Varint(set);
  if (numbers.with_stack) {
    out.Varint(stack_id);
  }
  for (std::uint32_t i = 0; i < numbers.count; ++i) {
    out.Varint(numbers.values[i]);
  }
  CountEvent();
  g_log.sink.Commit(out.at());
}

void RecordFreeFailed(const Attributes& attributes, std::uint64_t key, std::uint64_t status) {
  RecordPlain(wire::Tag::kFreeFailed, attributes, {.values = {key, status}, .count = 2});
}

void RecordFailed(const Attributes& attributes, std::uint64_t size, std::uint64_t status,
                  std::uint64_t free_bytes) {
  RecordPlain(wire::Tag::kFailed, attributes,
              {.values = {size, status, free_bytes + 1}, .count = 3, .with_stack = true});
}

void RecordMark(const char* name, std::int64_t value) {
  const Inside inside;
  if (!inside) {
    return CountMissed();
  }
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const Name text{name, CutLength(name, wire::kMaxText)};
  const LockGuard guard(g_lock);
  if (g_log.sink.header() != nullptr || g_log.sink.stopped()) {
    WriteMark(text, value, now);
  } else if (!Wait(text, value, now)) {
    CountDrop();
  }
}

void WriteMark(const Name& name, std::int64_t value, std::int64_t now) {
  const std::uint32_t set = Ready(now) ? AttributeSetId(Attributes{}, now) : 0;
  std::uint8_t* at = set == 0 ? nullptr : Begin(kPlainRecord + name.length, now);
  if (at == nullptr) {
    return CountDrop();
  }
  Encoder out(at);
  out.Begin(wire::Tag::kMark);
  Time(out, now);
  out.Varint(set);
  out.ZigZag(value);
  out.Text(name.text, name.length);
  CountEvent();
  g_log.sink.Commit(out.at());
}

}  // namespace memtool::capture
