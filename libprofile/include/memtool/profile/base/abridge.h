// Texts that are far longer than what is shown of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memtool {

// The longest name that somebody reads, in bytes.
inline constexpr std::size_t kMaxNameBytes = std::size_t{8} << 10U;

// The two ends of a text that is far longer than what is shown of it, with "…" between them: what
// looks at every byte need not look at megabytes. Others as they are. `most`: bytes.
std::string Abridge(std::string_view text, std::size_t most);

}  // namespace memtool
