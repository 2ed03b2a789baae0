// Damages of a file, the same ones on every run.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace memtool::flips {

// One to three changes: a bit flipped, a byte replaced, or two ranges of up to 16 bytes exchanged.
std::string Flipped(std::string bytes, std::mt19937_64& random);

// How often to cut a file of `size` bytes when there are `most` cuts: the distance between them.
std::size_t CutDistance(std::size_t size, std::size_t most);

}  // namespace memtool::flips
