#include "whatif/cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "options/size_option.h"

namespace memtool::commands {

namespace {

constexpr std::int64_t MebiBytes(std::int64_t count) {
  return count << 20U;
}

// Totals as PyTorch's messages show them ("39.39 GiB total capacity"); single cards of a name
// differ by up to 0.2 GiB.
constexpr auto kCards = std::to_array<Card>({
    {"T4", MebiBytes(14931)},
    {"V100-16GB", MebiBytes(16151)},
    {"V100-32GB", MebiBytes(32501)},
    {"RTX3090", MebiBytes(24258)},
    {"RTX4090", MebiBytes(24208)},
    {"RTX5090", MebiBytes(32109)},
    {"A10G", MebiBytes(22592)},
    {"L4", MebiBytes(22563)},
    {"A6000", MebiBytes(48670)},
    {"L40S", MebiBytes(45457)},
    {"A100-40GB", MebiBytes(40338)},
    {"A100-80GB", MebiBytes(81050)},
    {"H100-80GB", MebiBytes(81004)},
    {"H200", MebiBytes(143067)},
});

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

std::span<const Card> Cards() {
  return kCards;
}

KnownWords CardNames() {
  KnownWords known;
  for (const Card& card : Cards()) {
    known.words.emplace_back(card.name);
  }
  return known;
}

Result<std::int64_t> ParseCard(std::string_view text, SizeBase base) {
  const auto* const card = std::find_if(
      kCards.begin(), kCards.end(), [text](const Card& one) { return SameName(one.name, text); });
  if (card != kCards.end()) {
    return card->total;
  }
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    return ParseDeviceSize("--card", text, base);
  }
  std::string names;
  for (const Card& one : kCards) {
    names += std::string(names.empty() ? "" : ", ") + std::string(one.name);
  }
  return Fail(ErrorCode::kUsage, fmt::format("--card: no card is called '{}'", text),
              "a size, or one of " + names);
}

}  // namespace memtool::commands
