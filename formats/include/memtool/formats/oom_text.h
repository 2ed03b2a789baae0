// Out-of-memory messages in a text log, as PyTorch of every year, XLA, TensorFlow and the libraries
// below them write them. A log is not a recording: it says how much there was of what at one
// moment, rounded to two decimals. Read by Open() (open.h) where logs are wanted.
// Wordings: memtool-formats(5). Units: bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "memtool/profile/account/oom_message.h"

namespace memtool::formats {

struct OomLog {
  std::deque<OomMessage> messages{};  // by line; of very many the first
  std::uint64_t found = 0;            // all of them
  // Tries that failed and were made again, which are no messages; the last of them.
  std::uint64_t retries = 0;
  std::optional<OomMessage> last_retry{};
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;  // unpacked
  std::string packing{};
};

// What an OomWording means, for people: "PyTorch 1.4 to 2.0".
std::string DisplayOf(const OomMessage& message);

// Messages of a log at hand, whatever its text.
OomLog FindOoms(std::string_view text);

}  // namespace memtool::formats
