// What a process that runs many command lines keeps between them: inputs that were read, and their
// replayed histories. A program that runs one line has none.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"

namespace memtool::commands {

class KeptRecordings {
 public:
  // What inputs are found by: their name, and as what they are read ("" = by content).
  static std::string KeyOf(const std::string& name, const std::string& format) {
    return name + '\0' + format;
  }
  // Null: it was not read yet.
  [[nodiscard]] std::shared_ptr<const Recording> Find(const std::string& key) const;
  // `index`: of its history, where it is known already.
  void Keep(const std::string& key, std::shared_ptr<const Recording> recording,
            std::shared_ptr<const HistoryIndex> index = nullptr);
  // Of a recording with a history; replayed once where the recording is kept.
  std::shared_ptr<const HistoryIndex> IndexOf(const std::shared_ptr<const Recording>& recording);
  // All inputs; what still uses them keeps them.
  void Forget() { kept_.clear(); }

 private:
  struct Kept {
    std::shared_ptr<const Recording> recording;
    std::shared_ptr<const HistoryIndex> index;
  };
  std::map<std::string, Kept> kept_;
};

}  // namespace memtool::commands
