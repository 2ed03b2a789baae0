#include "output/text/cpp_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "memtool/profile/base/abridge.h"
#include "memtool/profile/base/paths.h"

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
    const std::size_t next = std::min(name.find_first_of("({_<", at), name.size());
    text += name.substr(at, next - at);
    at = next;
    if (at == name.size()) {
      break;
    }
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

std::string NameText(std::string_view name) {
  if (name.size() > kMaxNameBytes) {
    return NameText(Abridge(name, kMaxNameBytes / 2));
  }
  std::string text = ShortCpp(name);
  if (text.find("::") == std::string::npos) {
    return text;
  }
  const std::string_view plain = WithoutArguments(text);
  // "torch::autograd::generated::DivBackward0::apply": the last two parts are kept. Separators
  // inside templates and parentheses do not count.
  int depth = 0;
  std::size_t last = 0;
  std::size_t before_last = 0;
  for (std::size_t i = 0; i + 1 < plain.size(); ++i) {
    depth += plain[i] == '<' || plain[i] == '(' ? 1 : 0;
    depth -= (plain[i] == '>' || plain[i] == ')') && depth > 0 ? 1 : 0;
    if (depth == 0 && plain[i] == ':' && plain[i + 1] == ':') {
      before_last = last;
      last = i + 2;
    }
  }
  return std::string(plain.substr(before_last));
}

}  // namespace memtool::commands
