// Who an event belongs to: threads, ledgers, tags, and lanes, which are all of them together.
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "log.h"

namespace memtool::capture {

namespace {

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

}  // namespace

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

void PushTag(const char* name) {
  const std::int64_t now = Now(CLOCK_MONOTONIC);
  const std::size_t length = CutLength(name, wire::kMaxText);
  NameKey key{19, length};
  for (std::size_t i = 0; i < length; ++i) {
    key.low = Mix(key.low, static_cast<unsigned char>(name[i]));
    key.high = Mix(key.high + 1, static_cast<unsigned char>(name[i]));
  }
  const Inside inside;
  if (!inside) {
    if (t_state.tag_depth < 16) {
      t_state.tags[t_state.tag_depth] = 0;
    }
    ++t_state.tag_depth;
    return;
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

}  // namespace memtool::capture
