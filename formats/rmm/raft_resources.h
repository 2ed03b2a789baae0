// What RAFT tracks, by its name. Workspaces take their memory past the resource "device": each is a
// part of the device's, and none lies in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/history/address_events.h"

namespace memtool::formats::raft {

inline constexpr std::size_t kMaxResources = 200;  // in one file

struct ResourceFacts {
  std::string_view name;
  std::string_view trace;
  DomainKind kind = DomainKind::kDevice;
  std::int32_t device = 0;
  std::int64_t rank = 0;
};

// Those of an unknown one refer to `name`.
ResourceFacts FactsOf(std::string_view name);
MemoryPlace PlaceOf(const ResourceFacts& facts);

}  // namespace memtool::formats::raft
