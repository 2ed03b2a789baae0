// Where operations come from: the StackFrameIndexProto of a module.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hlo/hlo_program.h"
#include "support/byte_cursor.h"

namespace memtool::formats::hlo {

// All ids are 1-based, 0 is none.
class FrameIndex {
 public:
  void Read(ByteCursor cursor);
  // Innermost first, at most 64; what leads nowhere ends the stack.
  [[nodiscard]] std::vector<CodeFrame> Stack(std::uint64_t frame) const;

 private:
  struct Place {
    std::uint64_t file = 0;
    std::uint64_t function = 0;
    std::int64_t line = 0;
  };
  struct Frame {
    std::uint64_t place = 0;
    std::uint64_t parent = 0;
  };

  std::vector<std::string> files_;
  std::vector<std::string> functions_;
  std::vector<Place> places_;
  std::vector<Frame> frames_;
};

}  // namespace memtool::formats::hlo
