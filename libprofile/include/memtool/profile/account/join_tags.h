// MXNet writes allocations with unknown tags twice: into its memory log, and with a call stack into
// another log. Read together, the memory log leaves out what the call stacks show better, so that
// the sum of both is what the memory log alone holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

class TaggedStacks {
 public:
  // Adds what a recording of call stacks holds per tag.
  void Add(const Recording& stacks);
  // The memory log without that, each allocation once. Errors: those of RecordingBuilder::Finish.
  struct Rest {
    Recording recording;
    std::int64_t bytes = 0;  // left out
  };
  Result<Rest> LeaveOut(Recording log);
  [[nodiscard]] bool empty() const { return tags_.empty(); }

 private:
  struct Sum {
    std::int64_t count = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::string, Sum, std::less<>> tags_;
};

}  // namespace memtool
