// Alignment of sequences that are too different, or too long, for the exact one: what is unique on
// both sides anchors the rest, and repetitions are compared once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memtool/profile/align/align.h"

namespace memtool {

// A stretch that repeats: rows of a sequence.
struct Repeats {
  std::size_t begin = 0;
  std::size_t period = 0;
  std::size_t length = 0;
};

// Elements that occur once on either side correspond where their order agrees (patience); between
// them, stretches of at most `max_edits` differences are aligned exactly, others are left.
Alignment AlignByAnchors(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                         std::size_t max_edits);

// Folded: of each of the repeats one body stands for all. Repeats correspond when their bodies have
// half of their elements in common; their repetitions correspond one to one, from the first on.
// `a_repeats`, `b_repeats`: in order, without overlap.
Alignment AlignFolded(std::span<const std::uint32_t> a, std::span<const Repeats> a_repeats,
                      std::span<const std::uint32_t> b, std::span<const Repeats> b_repeats,
                      std::size_t max_edits);

}  // namespace memtool
