#include "rmm/raft_resources.h"

#include <algorithm>
#include <array>
#include <string>

namespace memtool::formats::raft {

ResourceFacts FactsOf(std::string_view name) {
  static constexpr std::array<ResourceFacts, 6> kResources{
      {{"host", "host", DomainKind::kHost, -1, 0},
       {"pinned", "pinned", DomainKind::kPinned, -1, 1},
       {"managed", "managed", DomainKind::kManaged, 0, 1},
       {"device", "0", DomainKind::kDevice, 0, 0},
       {"workspace", "0", DomainKind::kDevice, 0, 0},
       {"large_workspace", "0", DomainKind::kDevice, 0, 0}}};
  const auto* known =
      std::find_if(kResources.begin(), kResources.end(),
                   [name](const ResourceFacts& facts) { return facts.name == name; });
  return known == kResources.end() ? ResourceFacts{name, name, DomainKind::kDevice, 0, 2} : *known;
}

MemoryPlace PlaceOf(const ResourceFacts& facts) {
  return {.trace = std::string(facts.trace),
          .domain = std::string(facts.name),
          .device = facts.device,
          .kind = facts.kind,
          .level = DomainLevel::kAllocator,
          .rank = facts.rank};
}

}  // namespace memtool::formats::raft
