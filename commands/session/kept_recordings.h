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
  // `key`: the input's name, and as what it was read. Null: it was not read yet.
  [[nodiscard]] std::shared_ptr<const Recording> Find(const std::string& key) const;
  void Keep(const std::string& key, std::shared_ptr<const Recording> recording);
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
