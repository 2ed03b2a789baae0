// Why memory ran out, and what it was not, in words.
#pragma once

#include <optional>
#include <string>

#include "memtool/profile/answers/oom.h"

namespace memtool::commands {

// "XLA's pool": what XLA hands out memory from.
std::string PoolText(const OomCase& found);
// What the allocator had free, of a message.
std::string CachedText(const OomCase& found);
// "fragmentation: 4.31 GiB cached, 2.1x the request, but …"
std::string Why(const OomCase& found);
// What the verdict rules out; none where it rules out nothing.
std::optional<std::string> Not(const OomCase& found);
// Whether rounding could change the verdict.
bool SaysClose(const OomCase& found);

}  // namespace memtool::commands
