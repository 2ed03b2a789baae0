#include "output/cut_names.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "output/escape.h"

namespace memtool::commands {

namespace {

using Group = std::vector<std::string_view>;

// The length in bytes of the texts' common beginning, whole characters only.
std::size_t CommonHead(const Group& group) {
  std::size_t common = group.front().size();
  for (const std::string_view text : group) {
    const auto [at, other] = std::mismatch(
        group.front().begin(),
        group.front().begin() + static_cast<std::ptrdiff_t>(std::min(common, text.size())),
        text.begin());
    common = static_cast<std::size_t>(at - group.front().begin());
  }
  const auto inside = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
  while (common > 0 && common < group.front().size() && inside(group.front()[common])) {
    --common;
  }
  return common;
}

class Apart {
 public:
  Apart(std::size_t width, bool path) : width_(width), path_(path) {}

  void Keep(std::string_view text) { taken_.emplace(text); }

  // Tries one way to cut all of a group; true when all forms are new.
  template <class Cut>
  bool Try(const Group& group, Cut cut) {
    std::vector<std::string> forms;
    std::set<std::string> fresh;
    for (const std::string_view text : group) {
      forms.push_back(cut(text));
      if (taken_.contains(forms.back()) || !fresh.insert(forms.back()).second) {
        return false;
      }
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      made_.emplace(group[i], forms[i]);
    }
    taken_.merge(fresh);
    return true;
  }

  void Add(const Group& group) {
    if (Try(group, [this](std::string_view text) { return Usual(text); })) {
      return;
    }
    const std::size_t middle = path_ ? 0 : width_ / 2;
    for (std::size_t away = 1; away < width_; ++away) {
      for (const std::size_t head : {middle + away, middle - std::min(middle, away)}) {
        if (head < width_ &&
            Try(group, [&](std::string_view text) { return ShortenAt(text, width_, head); })) {
          return;
        }
      }
    }
    // They differ only in the part that neither end shows: show from there on.
    const std::size_t common = CommonHead(group);
    if (width_ > 3 && Try(group, [&](std::string_view text) {
          return "…" + ShortenAt(text.substr(common), width_ - 1, width_ - 2);
        })) {
      return;
    }
    for (const std::string_view text : group) {
      AddNumbered(text);
    }
  }

  [[nodiscard]] std::string Usual(std::string_view text) const {
    return path_ ? ShortenAt(text, width_, 0) : Shorten(text, width_);
  }

  KeyMap<std::string, std::string> Take() { return std::move(made_); }

 private:
  void AddNumbered(std::string_view text) {
    for (std::size_t number = 2;; ++number) {
      const std::string mark = "#" + std::to_string(number);
      const std::size_t room = width_ > mark.size() ? width_ - mark.size() : 0;
      const bool last = room < 2;  // no room to tell anything apart
      if (Try({text}, [&](std::string_view one) { return Shorten(one, room) + mark; }) || last) {
        made_.emplace(text, Usual(text));
        return;
      }
    }
  }

  std::size_t width_;
  bool path_;
  std::set<std::string> taken_;
  KeyMap<std::string, std::string> made_;
};

}  // namespace

KeyMap<std::string, std::string> CutApart(const std::set<std::string>& texts, std::size_t width,
                                          bool path) {
  Apart apart(width, path);
  std::map<std::string, Group> groups;  // by the form that they would have
  for (const std::string& text : texts) {
    if (DisplayWidth(text) <= width) {
      apart.Keep(text);
    } else {
      groups[apart.Usual(text)].push_back(text);
    }
  }
  for (const auto& [form, group] : groups) {
    if (group.size() == 1) {
      apart.Add(group);
    }
  }
  for (const auto& [form, group] : groups) {
    if (group.size() > 1) {
      apart.Add(group);
    }
  }
  return apart.Take();
}

}  // namespace memtool::commands
