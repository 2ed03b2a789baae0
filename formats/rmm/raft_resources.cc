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

std::uint8_t Places::Of(const ResourceFacts& facts, AddressEvents& events) {
  const auto [known, added] = known_.try_emplace(std::string(facts.trace));
  if (added) {
    known->second = *events.AddPlace({.trace = std::string(facts.trace),
                                      .domain = std::string(facts.name),
                                      .device = facts.device,
                                      .kind = facts.kind,
                                      .level = DomainLevel::kAllocator,
                                      .rank = facts.rank});
  }
  return known->second;
}

void AddChecks(History& history, const ResourceFacts& facts, std::uint64_t checked,
               std::uint64_t agreeing) {
  for (Trace& trace : history.traces) {
    if (facts.trace == trace.name) {
      trace.checked_changes += checked;
      trace.agreeing_changes += agreeing;
    }
  }
}

}  // namespace memtool::formats::raft
