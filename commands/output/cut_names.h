// Truncates names to a column's width so that they stay distinguishable.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "memtool/profile/base/key_hash.h"

namespace memtool::commands {

// The forms of those of `texts` that are wider than `width`, at most that wide. No two forms are
// the same, nor is one the same as a text that fits. `path`: cut from the left, because the end
// tells most. Texts must have gone through EscapeText.
KeyMap<std::string, std::string> CutApart(const std::set<std::string>& texts, std::size_t width,
                                          bool path);

}  // namespace memtool::commands
