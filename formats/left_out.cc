#include "memtool/formats/left_out.h"

#include <fmt/format.h>

namespace memtool::formats {

Error NotInThisBuild(std::string_view what) {
  return {.code = ErrorCode::kUnsupported,
          .input = {},
          .message = fmt::format("{} not in this build", what)};
}

}  // namespace memtool::formats
