// Out-of-memory messages in a text log, as all releases of PyTorch, XLA, TensorFlow and the
// libraries below them write them. A log is not a recording: it says how much there was of what at
// one moment, rounded to two decimals. Read by Open() (open.h) where logs are wanted.
// Wordings: memtool-formats(5). Units: bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/formats/statements.h"
#include "memtool/profile/account/oom_message.h"

namespace memtool::formats {

struct OomLog {
  std::vector<OomMessage> messages{};  // by line; the first ones, when there are very many
  std::uint64_t found = 0;             // all of them
  // Attempts that failed and were repeated, which are not messages; the last of them.
  std::uint64_t retries = 0;
  std::optional<OomMessage> last_retry{};
  // The first line that says that a process was killed by signal 9, as the kernel does when the
  // host's memory runs out; 0: none.
  std::uint64_t killed = 0;
  std::uint64_t tables_left_out = 0;  // tables of XLA beyond the limits
  Statements statements{};
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;  // unpacked
  std::string packing{};
  // Where reading ended because the file was growing; none when it was read to its end.
  std::optional<std::uint64_t> ended_at{};
};

// The messages in a log that is in memory, whatever its text.
OomLog FindOoms(std::string_view text);

}  // namespace memtool::formats
