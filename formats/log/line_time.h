// When a line of a log was written, as far as its beginning can show.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memtool::formats::log {

// "2026-11-22 08:10:41,123 …", also with T, slashes, a point, or after a tag or bracket: as
// nanoseconds since 1970, by a clock whose time zone is not given. Where the year is missing, as in
// glog's "E1122 08:10:41.123" and syslog's "Nov 22 08:10:41", the time is in 1972 (HasYear). None
// when the day is missing.
std::optional<std::int64_t> GetTime(std::string_view line);

}  // namespace memtool::formats::log
