// What this build of the library was made without (MEMTOOL_FORMATS, formats/formats.cmake):
// those readers and writers are not in Readers() and Writers(), and the other files that such a
// component would read are refused.
#pragma once

#include <span>
#include <string_view>

#include "memtool/profile/base/result.h"

namespace memtool::formats {

// Names of readers and of writers, as Reader::name() and Writer::name() would be.
std::span<const std::string_view> ReadersLeftOut();
std::span<const std::string_view> WritersLeftOut();

// kUnsupported: "WHAT not in this build"; `what` with its verb: "keyword files are".
Error NotInThisBuild(std::string_view what);

}  // namespace memtool::formats
