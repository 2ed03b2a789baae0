#include <fmt/format.h>

#include <algorithm>

#include "memtool/formats/left_out.h"
#include "memtool/formats/writer.h"

namespace memtool::formats {

Result<std::string> WriteAs(std::string_view name, const Recording& recording,
                            const WriteOptions& options) {
  std::string all;
  MEMTOOL_TRY(WriteAs(name, recording, options, [&all](std::string_view bytes) {
    all += bytes;
    return Result<void>();
  }));
  return all;
}

Result<void> WriteAs(std::string_view name, const Recording& recording, const WriteOptions& options,
                     const ByteSink& sink) {
  std::string names;
  for (const Writer* writer : Writers()) {
    if (writer->name() == name) {
      return writer->Write(recording, options, sink);
    }
    names += (names.empty() ? "" : ", ") + std::string(writer->name());
  }
  const auto left_out = WritersLeftOut();
  if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) {
    return Fail(NotInThisBuild(fmt::format("writing '{}' is", name)));
  }
  return Fail(ErrorCode::kUsage, fmt::format("there is no output format '{}'", name),
              "formats: " + names);
}

}  // namespace memtool::formats
