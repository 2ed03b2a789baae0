#include "memtool/profile/base/key_hash.h"

#include <chrono>
#include <exception>
#include <random>

namespace memtool {

HashSecret DrawHashSecret() noexcept {
  HashSecret secret{};
  try {
    std::random_device random;
    for (std::uint64_t& word : secret) {
      word = std::uint64_t{random()} << 32U | random();
    }
  } catch (const std::exception&) {
    // A sandbox without a random source: what a file cannot know either, when and where we run.
    const auto now = std::chrono::high_resolution_clock::now().time_since_epoch().count();
    std::uint64_t seed =
        static_cast<std::uint64_t>(now) ^ reinterpret_cast<std::uintptr_t>(&secret);
    for (std::uint64_t& word : secret) {
      seed += 0x9e3779b97f4a7c15U;
      word = FoldedProduct(seed, 0xd1342543de82ef95U);
    }
  }
  for (std::uint64_t& word : secret) {
    word |= 1U;  // as a factor: loses nothing
  }
  return secret;
}

}  // namespace memtool
