// Texts as Go's standard library writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memtool::commands::pprof {

// path/filepath: without "//", "/./" and "x/..".
std::string CleanPath(std::string_view path);
// path/filepath: the last part; "." for an empty path.
std::string BasePath(std::string_view path);
// True for "http://..." and other texts that begin with a scheme.
bool IsAbsoluteUrl(std::string_view text);

// "1h2m3.5s", "100ms".
std::string DurationText(std::int64_t nanos);
// "Jan 2, 2006 at 3:04pm (MST)", in the zone of the environment.
std::string TimeLabel(std::int64_t nanos);
// "2006-01-02 15:04:05.999 -0700 MST"
std::string TimeText(std::int64_t nanos);

// Right-aligned in `width` code points.
std::string PadLeft(std::string_view text, std::size_t width);
std::size_t CodePoints(std::string_view text);
// The first code points of a text.
std::string_view FirstCodePoints(std::string_view text, std::size_t count);

// A name for text output: as it is, but with what EscapeText makes visible (pprof prints it raw).
std::string Shown(std::string_view name);
// The inside of a quoted DOT string. `name` may hold line breaks that pprof itself put there.
std::string QuoteDot(std::string_view text);

}  // namespace memtool::commands::pprof
