#include "output/text/cpp_names.h"

#include <array>
#include <cctype>
#include <cstddef>

namespace memtool::commands {

namespace {

constexpr std::array<std::string_view, 3> kUnnamed{
    "(anonymous namespace)::", "{anonymous}::", "_GLOBAL__N_1::"};

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Template arguments begin after a name, but "operator<" is a name itself.
bool OpensArguments(std::string_view name, std::size_t at) {
  return name[at] == '<' && at > 0 && IsWord(name[at - 1]) &&
         !name.substr(0, at).ends_with("operator");
}

// The position after the '>' that closes the '<' at `at`, or npos.
std::size_t EndOfArguments(std::string_view name, std::size_t at) {
  std::size_t depth = 0;
  for (; at < name.size(); ++at) {
    depth += name[at] == '<' ? 1 : 0;
    if (name[at] == '>' && name[at - 1] != '-' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::string ShortCpp(std::string_view name) {
  std::string text;
  bool balanced = true;  // else no further end is looked for: names may be long
  std::size_t at = 0;
  while (at < name.size()) {
    std::size_t skip = 0;
    for (const std::string_view unnamed : kUnnamed) {
      skip = name.substr(at).starts_with(unnamed) ? unnamed.size() : skip;
    }
    const bool opens = balanced && OpensArguments(name, at);
    const std::size_t end = opens ? EndOfArguments(name, at) : std::string_view::npos;
    balanced = balanced && (!opens || end != std::string_view::npos);
    if (skip > 0) {
      at += skip;
    } else if (end != std::string_view::npos) {
      text += "<…>";
      at = end;
    } else {
      text += name[at++];
    }
  }
  return text;
}

}  // namespace memtool::commands
