// When a line of a log was written, as far as its beginning tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memtool::formats::oom_text {

// "2026-11-22 08:10:41,123 …", also with T, slashes, a point, or behind a tag or bracket: as
// nanoseconds since 1970 of a clock whose zone is not told. Nothing when the year is not there.
std::optional<std::int64_t> TimeOf(std::string_view line);

}  // namespace memtool::formats::oom_text
