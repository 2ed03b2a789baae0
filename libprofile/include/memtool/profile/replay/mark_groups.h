// The marks of a history by name, for lists of the moments that can be asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/model/history.h"

namespace memtool {

// Marks of one name, or of one name with numbers: "ProfilerStep#3" to "ProfilerStep#7".
struct MarkGroup {
  std::string name;       // without its number
  bool numbered = false;  // first and last are its numbers
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t count = 0;
};

// In the order in which the names first appear.
std::vector<MarkGroup> MakeGroups(std::span<const Mark> marks);
// "ProfilerStep#3 to #7, forward (12 times), load, and 9 more".
std::string MarkNames(std::span<const Mark> marks);

}  // namespace memtool
