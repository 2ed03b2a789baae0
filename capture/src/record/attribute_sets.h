// What events have in common is written once, as an attribute set with a number: thread, domain,
// context, stream, pool and tag. All of this needs the log's lock.
#pragma once

#include <cstdint>

#include "base/fixed_table.h"
#include "record/recorder.h"

namespace memtool::capture {

struct DomainKey {
  std::uint64_t packed;  // space, kind, level, device
  const char* name;      // static text or a domain's: compared by address
  friend bool operator==(const DomainKey&, const DomainKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const {
    return Mix(Mix(13, packed), reinterpret_cast<std::uintptr_t>(name));
  }
};

struct AttributeSetKey {
  std::uint64_t thread_domain;
  std::uint64_t context;
  std::uint64_t stream;
  std::uint64_t pool;
  std::uint64_t tag;
  friend bool operator==(const AttributeSetKey&, const AttributeSetKey&) = default;
  [[nodiscard]] std::uint64_t Hash() const {
    return Mix(Mix(Mix(Mix(Mix(17, thread_domain), context), stream), pool), tag);
  }
};

// The number of an event's attribute set, which is written when it is new; 0 when the log has
// stopped or all tables are full (then the event is dropped). A free has no tag: its allocation has
// one.
std::uint32_t AttributeSetId(const Attributes& attributes, std::int64_t now, bool is_free = false);

}  // namespace memtool::capture
