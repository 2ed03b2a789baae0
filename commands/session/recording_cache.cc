#include "session/recording_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace memtool::commands {

std::string RecordingCache::GetKey(const std::string& name, const formats::OpenOptions& options) {
  std::string key = name + '\0' + options.format;
  const formats::Limits defaults;
  for (const formats::LimitInfo& limit : formats::LimitList()) {
    // Memory is the process's, and no reader knows it.
    const std::uint64_t value = options.limits.*limit.value;
    if (limit.value != &formats::Limits::memory && value != defaults.*limit.value) {
      key += fmt::format("{}{}={}", '\0', limit.name, value);
    }
  }
  return key;
}

std::shared_ptr<const Recording> RecordingCache::Find(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.recording;
}

void RecordingCache::Keep(const std::string& key, std::shared_ptr<const Recording> recording,
                          std::shared_ptr<const HistoryIndex> index) {
  entries_[key] = {.recording = std::move(recording), .index = std::move(index)};
}

std::shared_ptr<const HistoryIndex> RecordingCache::IndexOf(
    const std::shared_ptr<const Recording>& recording) {
  CacheEntry* found = EntryOf(*recording);
  if (found == nullptr) {
    return std::make_shared<const HistoryIndex>(recording);
  }
  found->index = found->index ? found->index : std::make_shared<const HistoryIndex>(recording);
  return found->index;
}

std::shared_ptr<const StepPlaces> RecordingCache::PlacesOf(const HistoryIndex& index) {
  CacheEntry* found = EntryOf(index.recording());
  if (found == nullptr) {
    return std::make_shared<const StepPlaces>(index);
  }
  found->places = found->places ? found->places : std::make_shared<const StepPlaces>(index);
  return found->places;
}

Result<LiveRecording> RecordingCache::LiveAt(const HistoryIndex& index, const MomentSpec& moment,
                                             const std::string& device) {
  CacheEntry* found = EntryOf(index.recording());
  if (found != nullptr && found->moment && found->moment->spec == moment &&
      found->moment->device == device) {
    return found->moment->live;
  }
  auto live = AtMoment(index, moment, device);
  if (live && found != nullptr) {
    found->moment = {moment, device, *live};
  }
  return live;
}

RecordingCache::CacheEntry* RecordingCache::EntryOf(const Recording& recording) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry.second.recording.get() == &recording;
  });
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace memtool::commands
