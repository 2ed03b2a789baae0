#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "documents/keywords/yaml_tree.h"
#include "memtool/formats/frames.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/select/frame_class.h"

namespace memtool::formats {

namespace {

constexpr TreeWords kFramesWords{.noun = "file of frames",
                                 .example = "own: [mypackage]",
                                 .nesting = "own or not_own, a name, words"};

using Group = FrameRules::Group;

void CheckWord(const std::string& word, const YAML::Mark& mark) {
  if (word.empty()) {
    Refuse(mark, "an empty word");
  }
  FrameRules rules;
  rules.layers.push_back({.own = {{.name = "own", .words = {word}}}, .not_own = {}});
  if (auto compiled = FrameClassifier::Compile(rules); !compiled) {
    Refuse(mark, compiled.error().message, "a package's name, or /REGEX/");
  }
}

std::vector<std::string> ToWords(const YamlValue::Member& member) {
  if (member.value.kind != YamlValue::Kind::kList) {
    Refuse(member.value.mark,
           fmt::format("the words of '{}' are {}", member.key, KindName(member.value.kind)),
           fmt::format("write a list: {}: [word, word]", member.key));
  }
  std::vector<std::string> words;
  for (const auto& [word, mark] : member.value.list) {
    CheckWord(word, mark);
    words.push_back(word);
  }
  return words;
}

std::vector<Group> MakeGroups(const YamlValue::Member& member, const std::string& name) {
  if (member.value.kind != YamlValue::Kind::kMap) {
    return {{.name = name, .words = ToWords(member)}};
  }
  std::vector<Group> groups;
  for (const YamlValue::Member& inner : member.value.members) {
    groups.push_back({.name = inner.key, .words = ToWords(inner)});
  }
  return groups;
}

FrameRules FrameRulesFrom(const YamlValue& root, const std::string& name) {
  if (root.kind != YamlValue::Kind::kMap) {
    Refuse(root.mark, fmt::format("{} where own: or not_own: was expected", KindName(root.kind)),
           std::string(kFramesWords.example));
  }
  FrameRules rules;
  FrameRules::Layer& layer = rules.layers.emplace_back();
  for (const YamlValue::Member& member : root.members) {
    if (member.key == "own") {
      layer.own = MakeGroups(member, name);
    } else if (member.key == "not_own") {
      layer.not_own = MakeGroups(member, name);
    } else if (member.key == "through") {
      rules.through = ToWords(member);
    } else {
      Refuse(member.mark, fmt::format("'{}' is not known", member.key),
             "own:, not_own: or through:");
    }
  }
  return rules;
}

// A word or a name as YAML reads it back, in quotes unless it is plain.
std::string QuotedWord(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (plain) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? "''" : std::string(1, c);
  }
  return quoted + "'";
}

std::string List(const std::vector<std::string>& words, std::string_view indent) {
  constexpr std::size_t kWidth = 100;
  std::string text = "[";
  std::size_t line = indent.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = QuotedWord(words[i]);
    if (i > 0) {
      text += ",";
      const bool wraps = line + word.size() + 2 > kWidth;
      text += wraps ? "\n" + std::string(indent) : " ";
      line = wraps ? indent.size() : line + 1;
    }
    text += word;
    line += word.size() + 1;
  }
  return text + "]\n";
}

std::string Groups(std::string_view key, const std::vector<Group>& groups) {
  if (groups.empty()) {
    return fmt::format("{}: []\n", key);
  }
  std::string text = fmt::format("{}:\n", key);
  for (const Group& group : groups) {
    text += fmt::format("  {}:\n    ", QuotedWord(group.name)) + List(group.words, "    ");
  }
  return text;
}

// Groups of equal name are one.
void Join(const std::vector<Group>& from, std::vector<Group>& to) {
  for (const Group& group : from) {
    const auto known = std::find_if(
        to.begin(), to.end(), [&group](const Group& each) { return each.name == group.name; });
    if (known == to.end()) {
      to.push_back(group);
    } else {
      known->words.insert(known->words.end(), group.words.begin(), group.words.end());
    }
  }
}

constexpr std::string_view kHead =
    R"(# Which frames are one's own code. A word is a package's name (installed, or run from a checkout of its
# sources), or /REGEX/ of a frame's function or file.
# - Packages in site-packages or dist-packages and Python's own library are not, whatever is said below,
#   unless own: names them or a whole stack has nothing else.
# - In a stack with a frame of Python, only such frames are one's own.
# - Your own rules: --own REGEX, --not-own REGEX, or a file like this one as
#   $XDG_CONFIG_HOME/memtool/frames.yaml (~/.config/memtool/frames.yaml). The command line comes before
#   the file, the file before these rules, and own: before not_own:.
)";

}  // namespace

Result<FrameRules> ParseFrameRules(std::string_view text, const std::string& name) {
  FrameRules rules;
  MEMTOOL_TRY(ReadTree(text, name, kFramesWords, [&](const YamlValue& root) {
    rules = FrameRulesFrom(root, std::string(BaseName(name)));
  }));
  return rules;
}

Result<FrameRules> ReadFrameRules(const std::string& path) {
  auto text = ReadTreeText(path, kFramesWords);
  MEMTOOL_TRY(text);
  return ParseFrameRules(*text, path);
}

std::string FormatFrameRules(const FrameRules& rules) {
  FrameRules::Layer all;
  for (const FrameRules::Layer& layer : rules.layers) {
    Join(layer.own, all.own);
    Join(layer.not_own, all.not_own);
  }
  std::string text(kHead);
  text += Groups("own", all.own) + Groups("not_own", all.not_own);
  text += "# Frames of these say nothing about the call: VIA names what is behind them.\n";
  text += "through:\n  " + List(rules.through, "  ");
  text += "# Native functions that are not one's own, in stacks without a frame of Python:\n";
  for (const Group& group : rules.native) {
    for (const std::string& word : group.words) {
      text += fmt::format("#   {}: {}\n", group.name, word);
    }
  }
  return text;
}

}  // namespace memtool::formats
