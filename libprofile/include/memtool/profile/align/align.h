// Matches the elements of two sequences: a longest common subsequence (E. Myers, "An O(ND)
// Difference Algorithm and Its Variations", 1986; the form that needs linear space).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace memtool {

inline constexpr std::uint32_t kNoPartner = 0xffffffff;
// Time grows with the square of the number of edits.
inline constexpr std::size_t kMaxEdits = 20'000;

struct Alignment {
  // Per element of the first sequence, the row of its partner in the second, or kNoPartner.
  // Partners are equal, and none stands before that of an earlier element.
  std::vector<std::uint32_t> partners;
  std::uint64_t pairs = 0;
  // False if some stretches had too many differences and were left unmatched.
  bool complete = true;
};

// `max_edits`: maximum number of unmatched elements per stretch.
// Sequences have fewer than 2^31 elements.
Alignment Align(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                std::size_t max_edits = kMaxEdits);

// Upper bound for the number of pairs: the size of the multiset intersection.
std::uint64_t MaxPairs(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

}  // namespace memtool
