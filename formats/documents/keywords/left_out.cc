// Stands in for this folder in a build without it.
#include "memtool/formats/left_out.h"

#include "memtool/formats/keywords.h"

namespace memtool::formats {

Result<KeywordsFile> ReadKeywords(const std::string& /*name*/) {
  return Fail(NotInThisBuild("keyword files are"));
}

Result<KeywordsFile> ParseKeywords(std::string_view /*text*/, const std::string& /*name*/) {
  return Fail(NotInThisBuild("keyword files are"));
}

}  // namespace memtool::formats
