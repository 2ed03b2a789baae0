// Hashes of numbers that come from files (addresses, ids, handles). std::hash gives a number
// itself, and a file could choose those that share a place: the hash differs in each process
// instead. So does the order of a KeyMap, which must not be seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <unordered_map>

namespace memtool {

inline std::uint64_t KeyFactor() {
  static const std::uint64_t factor = [] {
    std::random_device random;
    return (std::uint64_t{random()} << 32U | random()) | 1U;
  }();
  return factor;
}

struct KeyHash {
  std::size_t operator()(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>(key * KeyFactor() >> 32U);
  }
};

template <class T>
using KeyMap = std::unordered_map<std::uint64_t, T, KeyHash>;

}  // namespace memtool
