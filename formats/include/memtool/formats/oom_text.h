// Out-of-memory messages in a text log, as PyTorch of every year, XLA, TensorFlow and the libraries
// below them write them. A log is not a recording: it says how much there was of what at one
// moment, rounded to two decimals.
// Wordings: memtool-formats(5). Units: bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>

#include "memtool/formats/load.h"
#include "memtool/profile/account/oom_message.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::formats {

struct OomLog {
  std::deque<OomMessage> messages{};  // by line; of very many the last
  std::uint64_t found = 0;            // all of them
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;  // unpacked
  std::string packing{};
};

// What an OomWording means, for people: "PyTorch 1.4 to 2.0".
std::string DisplayOf(const OomMessage& message);

// Messages of a log at hand, whatever its text.
OomLog FindOoms(std::string_view text);

// What a reader knows for certain is a Recording; other text is searched for messages. `name` as
// for LoadFile. Errors: as of LoadFile for bytes that are no text.
using RecordingOrLog = std::variant<Recording, OomLog>;
Result<RecordingOrLog> LoadRecordingOrLog(const std::string& name, const LoadOptions& options);

}  // namespace memtool::formats
