// Stands in for this folder in a build without it.
#include "memtool/formats/left_out.h"

#include "memtool/formats/statements.h"

namespace memtool::formats {

Result<std::shared_ptr<const log::PatternTable>> ReadLogPatterns(const std::string& /*path*/) {
  return Fail(NotInThisBuild("wordings of logs in a file are"));
}

}  // namespace memtool::formats
