// Loops in a sequence: stretches that repeat exactly, such as the layers of a model.
//
// Equal windows of 8, 32 and 128 elements suggest how far apart repetitions are; for each of the
// most frequent distances p the maximal runs with s[i] == s[i + p] are found, and taken longest
// first, without overlap. Time is linear in the length, times the number of distances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace memtool {

struct Loop {
  std::size_t begin = 0;
  std::size_t period = 0;
  std::size_t length = 0;  // a last repetition may be cut short

  [[nodiscard]] std::size_t repetitions() const { return length / period; }
  [[nodiscard]] std::size_t end() const { return begin + length; }
};

inline constexpr std::size_t kMinRepetitions = 3;
inline constexpr std::size_t kMinLoopLength = 16;  // elements

// In the order of the sequence, without overlap. The period is the shortest that makes the loop as
// long. Sequences have fewer than 2^32 elements.
std::vector<Loop> FindLoops(std::span<const std::uint32_t> sequence);

// How many elements are left when of each loop only one repetition is kept.
std::size_t FoldedLength(std::size_t length, std::span<const Loop> loops);

}  // namespace memtool
