// What somebody may have meant by a word that does not exist.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace memtool::commands {

// The candidates that differ least from `wrong`, at most three: those that begin with it, else
// those that few typing slips (a letter more, less, wrong, or two swapped) lead to. None when all
// are too different.
std::vector<std::string> Nearest(std::string_view wrong, std::span<const std::string> candidates);

// "; did you mean --focus or --show?" with `prefix` as typed, or empty.
std::string DidYouMean(std::string_view wrong, std::span<const std::string> candidates,
                       std::string_view prefix);

}  // namespace memtool::commands
