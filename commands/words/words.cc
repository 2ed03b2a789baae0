#include "words/words.h"

#include <fmt/format.h>

#include "memtool/profile/base/paths.h"

namespace memtool::commands {

std::string OneOf(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string PlaceText(std::string_view file, std::int64_t line) {
  const std::string place(file == "??" ? std::string_view{} : BaseName(file));
  return line > 0 && !place.empty() ? fmt::format("{}:{}", place, line) : place;
}

}  // namespace memtool::commands
