#include "record/attribute_sets.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "record/process_log.h"

namespace memtool::capture {

namespace {

constexpr std::uint32_t kMaxTags = sizeof t_state.tags / sizeof t_state.tags[0];

// The id of the new thread record, or 0.
std::uint32_t WriteThread(const Name& name, std::uint64_t tid, std::int64_t now) {
  std::uint8_t* at = Begin(kPlainRecord, now);
  if (at == nullptr) {
    return 0;
  }
  Encoder out(at);
  out.Begin(wire::Tag::kThread);
  out.Varint(++g_log.threads);
  out.Varint(tid);
  out.Text(name.text, name.length);
  g_log.sink.Commit(out.at());
  return g_log.threads;
}

// The calling thread's id in this log.
std::uint32_t ThreadId(std::int64_t now) {
  const std::uint32_t epoch = g_epoch.load(std::memory_order_relaxed);
  if (t_state.epoch == epoch && t_state.thread_id != 0) {
    return t_state.thread_id;
  }
  char name[16] = "";
  syscall(SYS_prctl, 16 /* PR_GET_NAME */, name, 0, 0, 0);
  t_state.epoch = epoch;
  t_state.thread_id = WriteThread({name, CutLength(name, sizeof name)},
                                  static_cast<std::uint64_t>(syscall(SYS_gettid)), now);
  return t_state.thread_id;
}

std::uint32_t DomainId(const Attributes& attributes, std::int64_t now) {
  const std::uint64_t packed =
      static_cast<std::uint64_t>(attributes.space) |
      static_cast<std::uint64_t>(attributes.kind) << 8U |
      static_cast<std::uint64_t>(attributes.level) << 16U |
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(attributes.device)) << 32U;
  bool added = false;
  const std::uint32_t id = g_log.domains.Find({packed, attributes.name}, &added);
  if (id == 0 || !added) {
    return id;
  }
  const std::size_t name = CutLength(attributes.name, wire::kMaxText);
  std::uint8_t* at = Begin(kPlainRecord + name, now);
  if (at == nullptr) {
    return 0;
  }
  Encoder out(at);
  out.Begin(wire::Tag::kDomain);
  out.Varint(id);
  out.Varint(static_cast<std::uint64_t>(attributes.space));
  out.Varint(static_cast<std::uint64_t>(attributes.kind));
  out.Varint(static_cast<std::uint64_t>(attributes.level));
  out.Varint(static_cast<std::uint64_t>(std::int64_t{attributes.device} + 1));
  out.Text(attributes.name, name);
  g_log.sink.Commit(out.at());
  return id;
}

// Tags beyond the depth that a thread keeps have no name: the innermost that has one counts.
std::uint32_t CurrentTag() {
  const std::uint32_t depth = t_state.tag_depth;
  return depth == 0 ? 0 : t_state.tags[depth > kMaxTags ? kMaxTags - 1 : depth - 1];
}

// False when the log has stopped.
bool DefineTag(std::uint32_t tag, std::int64_t now) {
  const std::uint64_t bit = std::uint64_t{1} << tag % 64;
  if (tag == 0 || (g_log.tags_defined[tag / 64] & bit) != 0) {
    return true;
  }
  const Name name = ToName(tag);
  std::uint8_t* at = Begin(kPlainRecord + name.length, now);
  if (at == nullptr) {
    return false;
  }
  Encoder out(at);
  out.Begin(wire::Tag::kTagName);
  out.Varint(tag);
  out.Text(name.text, name.length);
  g_log.sink.Commit(out.at());
  g_log.tags_defined[tag / 64] |= bit;
  return true;
}

// False when the log has stopped.
bool DefineAttributeSet(std::uint32_t id, const AttributeSetKey& key, std::int64_t now) {
  std::uint8_t* at =
      DefineTag(static_cast<std::uint32_t>(key.tag), now) ? Begin(kPlainRecord, now) : nullptr;
  if (at == nullptr) {
    return false;
  }
  Encoder out(at);
  out.Begin(wire::Tag::kAttributeSet);
  out.Varint(id);
  for (const std::uint64_t field : {key.thread_domain >> 32U, key.thread_domain & 0xffffffffU,
                                    key.context, key.stream, key.pool, key.tag}) {
    out.Varint(field);
  }
  g_log.sink.Commit(out.at());
  return true;
}

// There may be more short-lived threads, streams and tags than any table holds; what is allocated
// and freed is still recorded.
std::uint32_t SharedAttributeSet(AttributeSetKey key, std::int64_t now) {
  if (g_log.other_threads == 0) {
    g_log.other_threads = WriteThread({.text = "other threads", .length = 13}, 0, now);
  }
  if (g_log.other_threads == 0) {
    return 0;
  }
  key.thread_domain = std::uint64_t{g_log.other_threads} << 32U | (key.thread_domain & 0xffffffffU);
  key.stream = key.tag = 0;
  bool added = false;
  const std::uint32_t shared = g_log.shared_sets.Find(key, &added);
  const std::uint32_t id = shared + decltype(g_log.attribute_sets)::kMax;
  if (shared == 0 || (added && !DefineAttributeSet(id, key, now))) {
    return 0;
  }
  ++g_log.sink.header()->shared_attributes;
  return id;
}

}  // namespace

std::uint32_t AttributeSetId(const Attributes& attributes, std::int64_t now, bool is_free) {
  const std::uint32_t thread = ThreadId(now);
  const std::uint32_t domain = DomainId(attributes, now);
  if (thread == 0 || domain == 0) {
    return 0;
  }
  const AttributeSetKey key{std::uint64_t{thread} << 32U | domain, attributes.context,
                            attributes.stream, attributes.pool, is_free ? 0 : CurrentTag()};
  if (g_log.newest_set != 0 && key == g_log.newest_set_key) {
    return g_log.newest_set;
  }
  bool added = false;
  const std::uint32_t id = g_log.attribute_sets.Find(key, &added);
  if (id == 0) {
    return SharedAttributeSet(key, now);
  }
  if (added && !DefineAttributeSet(id, key, now)) {
    return 0;
  }
  g_log.newest_set_key = key;
  g_log.newest_set = id;
  return id;
}

void PushTag(const char* name) {
  const Inside inside;
  std::uint32_t id = 0;
  if (inside && t_state.tag_depth < kMaxTags) {
    const LockGuard guard(g_lock);
    id = InternName({name, CutLength(name, wire::kMaxText)});
  }
  if (t_state.tag_depth < kMaxTags) {
    t_state.tags[t_state.tag_depth] = id;
  }
  ++t_state.tag_depth;
  if (id == 0) {
    g_counters.lost_tags.fetch_add(1, std::memory_order_relaxed);
    if (inside) {
      const LockGuard guard(g_lock);
      WriteCounters();
    }
  }
}

void PopTag() {
  t_state.tag_depth -= t_state.tag_depth > 0 ? 1 : 0;
}

}  // namespace memtool::capture
