#include "capture_log/calls/pointer_table.h"

#include <algorithm>

namespace memtool::formats::capture_log {

PointerTable::Ended PointerTable::End(const Call& call, Table::iterator live) {
  Ended ended{.key = live->first, .allocation = live->second, .event = {}};
  if (!ended.allocation.imported) {
    ended.event = history_.AddEnd(call, ended.allocation.place, Action::kFreeCompleted);
  }
  live_.erase(live);
  return ended;
}

bool PointerTable::EndForgotten(const Call& call, const Key& key) {
  const auto live = live_.find(key);
  if (live == live_.end()) {
    return false;
  }
  End(call, live);
  return true;
}

std::optional<PointerTable::Ended> PointerTable::Free(const Call& call, const Key& key) {
  const auto live = live_.find(key);
  return live == live_.end() ? std::nullopt : std::optional(End(call, live));
}

std::vector<PointerTable::Ended> PointerTable::EndContext(const Call& call, std::uint64_t context) {
  std::vector<Key> keys;
  for (const auto& [key, allocation] : live_) {
    if (allocation.context == context && !allocation.pooled && key.first < wire::Space::kUser) {
      keys.push_back(key);
    }
  }
  std::sort(keys.begin(), keys.end());
  std::vector<Ended> ended;
  ended.reserve(keys.size());
  for (const Key& key : keys) {
    ended.push_back(End(call, live_.find(key)));
  }
  return ended;
}

void PointerTable::Restore(const Ended& ended) {
  live_.emplace(ended.key, ended.allocation);
  if (!ended.allocation.imported) {
    history_.Refuse(ended.event);
  }
}

}  // namespace memtool::formats::capture_log
