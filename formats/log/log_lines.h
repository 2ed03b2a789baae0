// Reads a log of any size and passes on the lines that may say something: most lines of a log are
// about other things, and are stepped over many at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "log/word_filter.h"
#include "memtool/formats/byte_window.h"

namespace memtool::formats::log {

struct LogLine {
  std::string_view text;     // without its end
  std::uint64_t number = 0;  // from 1
  // What is looked for must begin before `until`: a line over 1 MiB comes in pieces that overlap.
  std::size_t until = std::string_view::npos;
  std::string_view previous;  // the line before; empty at the beginning of a piece
  // Of the line, or of the last one before it that had one, if that is no more than 200 lines ago
  // (a traceback tells no time).
  std::optional<std::int64_t> time;
};

class LogSink {
 public:
  virtual ~LogSink() = default;
  // Whether the next line is wanted whatever is in it.
  [[nodiscard]] virtual bool WantsNext() const = 0;
  virtual void Take(const LogLine& line) = 0;
};

// Passes on every line that has one of the words, and those that `sink` wants besides. `text`:
// becomes all of the log where that is no more than kMaxKeptLog, else empty; null where nobody
// wants it. Returns the number of lines. Throws ReadError on I/O and unpacking errors.
std::uint64_t ReadLines(ByteWindow& in, const WordFilter& words, LogSink& sink, std::string* text);

// The most of a log that is kept beside what was read from it.
inline constexpr std::size_t kMaxKeptLog = std::size_t{16} << 20U;
// Pieces of a line share this much.
inline constexpr std::size_t kLineOverlap = std::size_t{32} << 10U;

}  // namespace memtool::formats::log
