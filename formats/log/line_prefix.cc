#include "log/line_prefix.h"

#include <algorithm>
#include <array>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats::log {

namespace {

std::optional<int> NumberAt(std::string_view text) {
  const auto number = TakeNumber<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

std::string_view GetTag(std::string_view line) {
  if (line.empty()) {
    return {};
  }
  std::size_t end = 0;
  if (line.front() == '[' || line.front() == '(') {
    const std::size_t close = line.find(line.front() == '[' ? ']' : ')');
    if (close == std::string_view::npos) {
      return {};
    }
    end = close + 1;
    if (line.substr(end).starts_with("<std")) {
      end = std::min(line.find('>', end), line.size() - 1) + 1;
    }
  } else {
    while (end < line.size() && IsDigit(line[end])) {
      ++end;
    }
    if (end == 0 || end == line.size() || line[end] != ':') {
      return {};
    }
  }
  return line.substr(0, end + (end < line.size() && line[end] == ':' ? 1 : 0));
}

std::string_view GetProcess(std::string_view tag) {
  const bool time =
      tag.size() > 2 && tag[0] == '[' && tag[1] >= 'A' && tag[1] <= 'Z' && IsDigit(tag[2]);
  return time ? std::string_view() : tag;
}

std::optional<int> GetRank(std::string_view tag, std::string_view before) {
  for (const std::string_view word :
       {std::string_view("rank"), std::string_view("Rank"), std::string_view("RANK")}) {
    if (const std::size_t at = before.rfind(word); at != std::string_view::npos) {
      std::string_view rest = before.substr(at + word.size());
      rest.remove_prefix(std::min(rest.find_first_not_of(" =:_"), rest.size()));
      if (auto number = NumberAt(rest)) {
        return number;
      }
    }
  }
  if (const std::size_t comma = tag.find(',');
      comma != std::string_view::npos && tag.find("]<std") != std::string_view::npos) {
    return NumberAt(tag.substr(comma + 1));
  }
  return !tag.empty() && IsDigit(tag.front()) ? NumberAt(tag) : std::nullopt;
}

int RankInName(std::string_view name) {
  const std::size_t at = name.rfind("TP");
  if (at == std::string_view::npos) {
    return -1;
  }
  name.remove_prefix(at + 2);
  return NumberAt(name).value_or(-1);
}

std::string_view GetNamedProcess(std::string_view before) {
  const std::size_t pid = before.find("pid=");
  if (pid == std::string_view::npos) {
    return {};
  }
  const std::size_t open = before.rfind('(', pid);
  const std::size_t close = before.find(')', pid);
  constexpr std::size_t kMost = 100;
  return open == std::string_view::npos || close == std::string_view::npos || close - open > kMost
             ? std::string_view()
             : before.substr(open + 1, close - open - 1);
}

std::string_view GetMessage(std::string_view line) {
  std::size_t begin = 0;
  for (const std::string_view mark : {std::string_view("] "), std::string_view("| ")}) {
    const std::size_t at = line.rfind(mark);
    begin = at == std::string_view::npos ? begin : std::max(begin, at + mark.size());
  }
  // "10:00:00,123:After the step"
  for (std::size_t at = line.find(':', begin); at != std::string_view::npos;
       at = line.find(':', at + 1)) {
    const bool of_time = at > 0 && IsDigit(line[at - 1]);
    if (of_time && at + 1 < line.size() && (IsLetter(line[at + 1]) || line[at + 1] == ' ')) {
      begin = at + 1;
    }
  }
  line.remove_prefix(begin);
  line.remove_prefix(std::min(line.find_first_not_of(" \t("), line.size()));
  while (!line.empty() && std::string_view(" \t):,").find(line.back()) != std::string_view::npos) {
    line.remove_suffix(1);
  }
  return line;
}

}  // namespace memtool::formats::log
