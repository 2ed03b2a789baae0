// Lines that are not what they should be: counted, and the first one reported.
#pragma once

#include <cstdint>
#include <string_view>

#include "memtool/profile/model/recording_builder.h"
#include "support/text/lines.h"

namespace memtool::formats::ascend {

class BadRows {
 public:
  void Add(const Lines& lines) {
    if (count_++ == 0) {
      line_ = lines.number();
      offset_ = lines.offset();
    }
  }
  // Nothing where there was none.
  void MoveTo(RecordingBuilder& builder, std::string_view what) const;

 private:
  std::uint64_t count_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace memtool::formats::ascend
