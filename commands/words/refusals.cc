#include "words/refusals.h"

#include <fmt/format.h>

#include <utility>

namespace memtool::commands {

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

tl::unexpected<Error> Refuse(ErrorCode code, const Recording& recording, std::string_view why,
                             std::string hint) {
  return Fail(code, WithArticle(recording.metadata.format_display) + " " + std::string(why),
              std::move(hint));
}

Result<void> CheckMoment(const Recording& recording, const MomentSpec& moment) {
  if (recording.history || moment.kind == MomentSpec::Kind::kEnd) {
    return {};
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("{} {}: {} is one moment and has no history to stand in", moment.option,
                          moment.text, WithArticle(recording.metadata.format_display)),
              fmt::format("leave {} out; to compare two moments, give two files to memtool diff",
                          moment.option));
}

}  // namespace memtool::commands
