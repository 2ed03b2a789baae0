// Words for events: times, lifetimes and places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "memtool/profile/history/events.h"

namespace memtool::commands {

// "1.204 ms", "3.5 s".
std::string DurationText(std::int64_t nanos);
// "+41.018097 s" after `zero`, both in nanoseconds; empty without a time.
std::string SinceText(std::int64_t time, std::int64_t zero);
// "28 events, 1.204 ms"; without times, events alone.
std::string LivedText(std::int64_t events, const std::optional<std::int64_t>& nanos);
// What the texts above are at most as wide as, without making them; the largest number where that
// is not quick to say.
std::size_t SinceWidth(std::int64_t time, std::int64_t zero);
std::size_t LivedWidth(std::int64_t events, const std::optional<std::int64_t>& nanos);
std::size_t IdWidth(const BlockId& id);
// "forward  model.py:12"
std::string FrameText(std::string_view name, std::string_view file, std::int64_t line);

}  // namespace memtool::commands
