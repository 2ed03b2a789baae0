#include "oom_text/words/line_body.h"

#include <algorithm>

namespace memtool::formats::oom_text {

std::string_view WithoutFrame(std::string_view line) {
  constexpr std::string_view kBar = "│";
  for (bool more = true; more && !line.empty();) {
    more = line.back() == ' ' || line.back() == '|' || line.back() == '\t';
    line.remove_suffix(more ? 1 : 0);
    if (line.ends_with(kBar)) {
      line.remove_suffix(kBar.size());
      more = true;
    }
  }
  return line;
}

std::string_view GetBody(std::string_view line, std::string_view tag) {
  line.remove_prefix(tag.size());
  for (bool more = true; more && !line.empty();) {
    more = false;
    for (const std::string_view mark :
         {std::string_view(" "), std::string_view("\t"), std::string_view("#"),
          std::string_view(">"), std::string_view("│"), std::string_view("|")}) {
      if (line.starts_with(mark)) {
        line.remove_prefix(mark.size());
        more = true;
      }
    }
  }
  return WithoutFrame(line);
}

bool IsInSource(std::string_view line, std::size_t begin) {
  constexpr std::string_view kRaise = "raise ";
  constexpr std::string_view kName =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.(\"'";
  constexpr std::string_view kMargin = "        ";
  constexpr std::size_t kReach = 200;  // so that many literals in a long line cost little
  const std::size_t from = begin - std::min(begin, kReach);
  std::string_view before = line.substr(from, begin - from);
  if (!before.ends_with('"') && !before.ends_with('\'')) {
    return false;
  }
  const std::size_t raise = before.rfind(kRaise);
  if (raise != std::string_view::npos) {
    const std::string_view call = before.substr(raise + kRaise.size());
    return call.find_first_not_of(kName) == std::string_view::npos;
  }
  before.remove_suffix(1);
  if (before.ends_with('f')) {
    before.remove_suffix(1);
  }
  return before.ends_with(kMargin);
}

}  // namespace memtool::formats::oom_text
