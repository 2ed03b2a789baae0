// Cache of inputs and replayed histories for processes that run several command lines. The
// command-line program has none.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "memtool/formats/open.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/steps/step_places.h"

namespace memtool::commands {

class RecordingCache {
 public:
  // Cache key: the input's name and how it is read, its format and its limits.
  static std::string GetKey(const std::string& name, const formats::OpenOptions& options);
  // Null if it is not in the cache.
  [[nodiscard]] std::shared_ptr<const Recording> Find(const std::string& key) const;
  // `index`: of its history, where it is known already.
  void Keep(const std::string& key, std::shared_ptr<const Recording> recording,
            std::shared_ptr<const HistoryIndex> index = nullptr);
  // Of a recording with a history; replayed once where the recording is kept.
  std::shared_ptr<const HistoryIndex> IndexOf(const std::shared_ptr<const Recording>& recording);
  // AtMoment of a history; the last one is kept with its recording, because several questions are
  // asked about one moment.
  Result<LiveRecording> LiveAt(const HistoryIndex& index, const MomentSpec& moment,
                               const std::string& device);
  // Where in a run the allocations of a history are made; found once where its recording is kept.
  std::shared_ptr<const StepPlaces> PlacesOf(const HistoryIndex& index);
  // Drops all entries; recordings still in use stay alive.
  void Forget() { entries_.clear(); }

 private:
  struct CacheEntry {
    std::shared_ptr<const Recording> recording;
    std::shared_ptr<const HistoryIndex> index;
    std::shared_ptr<const StepPlaces> places{};
    struct Moment {
      MomentSpec spec;
      std::string device;
      LiveRecording live;
    };
    std::optional<Moment> moment{};
  };
  // Of a recording that is kept; null.
  CacheEntry* EntryOf(const Recording& recording);
  std::map<std::string, CacheEntry> entries_;
};

}  // namespace memtool::commands
