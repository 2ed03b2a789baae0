// What RAFT tracks, by its name. Workspaces take their memory past the resource "device": each is a
// part of the device's, and none lies in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "memtool/profile/base/key_hash.h"
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

// The places of a file's resources: those of one trace are one.
class Places {
 public:
  // Added to `events` where it is new; kMaxResources fit.
  std::uint8_t Of(const ResourceFacts& facts, AddressEvents& events);

 private:
  KeyMap<std::string, std::uint8_t> known_;  // by trace
};

// How many changes of a resource its own totals were compared with, and how many agree.
void AddChecks(History& history, const ResourceFacts& facts, std::uint64_t checked,
               std::uint64_t agreeing);

}  // namespace memtool::formats::raft
