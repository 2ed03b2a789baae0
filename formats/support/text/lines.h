// Lines of a text of any size, one at a time, without copying those that are buffered.
#pragma once

#include <cstdint>
#include <string_view>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"

namespace memtool::formats {

class Lines {
 public:
  Lines(ByteWindow& in, const Limits& limits) : in_(in), limits_(limits) {}

  // The next line without its end ("\n" or "\r\n"); false at the end of the input. The view is
  // valid until the next call. Throws ReadError when a line is longer than the limit on records.
  bool Next(std::string_view& line);
  // Byte offset of the line that Next() returned, and its number from 1.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // Whether that line was the last one and had no end.
  [[nodiscard]] bool unended() const { return unended_; }
  // Throws ReadError when the input has more rows than the limit on samples.
  void CheckRows(std::uint64_t rows) const;

 private:
  void More();
  void CheckSize(std::size_t size) const;

  ByteWindow& in_;
  const Limits& limits_;
  std::string_view rest_;  // buffered, not yet returned
  std::size_t given_ = 0;  // bytes of the window before rest_
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  bool unended_ = false;
};

}  // namespace memtool::formats
