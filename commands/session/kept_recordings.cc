#include "session/kept_recordings.h"

#include <algorithm>
#include <utility>

namespace memtool::commands {

std::shared_ptr<const Recording> KeptRecordings::Find(const std::string& key) const {
  const auto found = kept_.find(key);
  return found == kept_.end() ? nullptr : found->second.recording;
}

void KeptRecordings::Keep(const std::string& key, std::shared_ptr<const Recording> recording,
                          std::shared_ptr<const HistoryIndex> index) {
  kept_[key] = {.recording = std::move(recording), .index = std::move(index)};
}

std::shared_ptr<const HistoryIndex> KeptRecordings::IndexOf(
    const std::shared_ptr<const Recording>& recording) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& entry) {
    return entry.second.recording == recording;
  });
  if (found == kept_.end()) {
    return std::make_shared<const HistoryIndex>(recording);
  }
  auto& index = found->second.index;
  index = index ? index : std::make_shared<const HistoryIndex>(recording);
  return index;
}

}  // namespace memtool::commands
