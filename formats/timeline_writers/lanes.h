// Spans of time in lanes: those of one lane do not overlap, so that they can be drawn as slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memtool::formats {

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;  // not before `begin`
  std::size_t item = 0;  // the caller's number for it
};

// Every span goes into the first lane that is free when it begins; those of a lane are in order of
// time. Ties go by length, the longest first, then by number.
std::vector<std::vector<Span>> PackLanes(std::vector<Span> spans);

}  // namespace memtool::formats
