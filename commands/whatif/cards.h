// Cards by name: what their memory is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/sizes.h"
#include "words/known_words.h"

namespace memtool::commands {

struct Card {
  std::string_view name;   // "A100-40GB"
  std::int64_t total = 0;  // bytes, as reported by cudaMemGetInfo
};
std::span<const Card> Cards();
KnownWords CardNames();

// Memory of a GPU that is not available for tensors by default: the driver's context
// and the libraries' own memory.
inline constexpr std::int64_t kCardOverhead = std::int64_t{1200} << 20U;

// "A100-40GB" in any case, or a size: the card's total bytes. Errors: kUsage, naming the cards.
Result<std::int64_t> ParseCard(std::string_view text, SizeBase base);

}  // namespace memtool::commands
