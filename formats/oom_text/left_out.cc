// Stands in for this folder in a build without it.
#include "memtool/formats/left_out.h"

#include "oom_text/scan.h"
#include "oom_text/text_readers.h"
#include "support/read_error.h"

namespace memtool::formats {

OomLog oom_text::ScanLog(ByteWindow& /*in*/, const log::PatternTable* /*patterns*/,
                         std::string* /*text*/) {
  throw ReadError(NotInThisBuild("text logs are"));
}

bool oom_text::IsLog(std::string_view /*head*/) {
  return false;
}

std::optional<Result<Recording>> oom_text::ReadText(ByteWindow& /*in*/,
                                                    const log::PatternTable* /*patterns*/) {
  return std::nullopt;
}

std::string_view BuiltinLogPatterns() {
  return {};
}

OomLog FindOoms(std::string_view /*text*/) {
  return {};
}

}  // namespace memtool::formats
