// Bytes in, Recording out: unpack, sniff, read. The seam where everything thrown below becomes an
// Error value.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "memtool/formats/limits.h"
#include "memtool/formats/source.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::formats {

struct LoadOptions {
  Limits limits;
  std::string format;  // a reader's name; empty = by content
};

// `name` goes into errors as the user gave it; "-" reads standard input.
Result<Recording> LoadFile(const std::string& name, const LoadOptions& options);
Result<Recording> Load(std::unique_ptr<Source> source, const std::string& name,
                       const LoadOptions& options);

// The format of a file that a reader recognises for certain, by Metadata::format; else empty.
std::string_view CertainFormat(const std::string& path);

}  // namespace memtool::formats
