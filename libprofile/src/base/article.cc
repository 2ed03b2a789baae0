#include "memtool/profile/base/article.h"

namespace memtool {

namespace {

bool IsCapital(char letter) {
  return letter >= 'A' && letter <= 'Z';
}

// Letters of an abbreviation are spoken one by one: "an em", "an ex".
constexpr std::string_view kVowels = "AEIOaeio";
constexpr std::string_view kSpokenWithVowel = "AEFHILMNORSX";

}  // namespace

std::string WithArticle(std::string_view noun) {
  const bool letters = noun.size() > 1 && IsCapital(noun[0]) && IsCapital(noun[1]) &&
                       !noun.starts_with("JAX") && !noun.starts_with("NCCL");
  const bool an = !noun.empty() &&
                  ((letters ? kSpokenWithVowel : kVowels).find(noun[0]) != std::string_view::npos ||
                   noun.starts_with("Nsight"));
  return (an ? "an " : "a ") + std::string(noun);
}

}  // namespace memtool
