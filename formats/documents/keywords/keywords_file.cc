#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "documents/keywords/yaml_tree.h"
#include "memtool/formats/keywords.h"
#include "memtool/profile/base/result.h"

namespace memtool::formats {

namespace {

constexpr std::string_view kSettings = "keywords:, profile: or expected_sum:";
constexpr TreeWords kKeywordsWords{.noun = "keywords file",
                                   .example = "Name: [word, word]",
                                   .nesting = "keywords, axis, category, words"};

Category MakeCategory(const YamlValue::Member& member) {
  std::string lower = member.key;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (lower == "others" || lower == "untrackable") {
    Refuse(member.mark, fmt::format("a category named '{}'", member.key),
           "memtool adds Others and Untrackable by itself; choose another name");
  }
  Category category{.name = member.key, .words = {}};
  for (const auto& [text, mark] : member.value.list) {
    auto word = ParseWord(text);
    if (!word) {
      Refuse(mark, word.error().message, word.error().hint);
    }
    category.words.push_back(*std::move(word));
  }
  return category;
}

Axis MakeAxis(std::string name, const std::vector<const YamlValue::Member*>& members) {
  Axis axis{.name = std::move(name), .categories = {}};
  for (const YamlValue::Member* member : members) {
    if (member->value.kind != YamlValue::Kind::kList) {
      Refuse(member->value.mark,
             fmt::format("the words of '{}' are {}", member->key, KindName(member->value.kind)),
             fmt::format("write a list: {}: [word, word]", member->key));
    }
    axis.categories.push_back(MakeCategory(*member));
  }
  return axis;
}

// One axis (Name: list) or a map of axes (axis: {Name: list}).
std::vector<Axis> MakeAxes(const std::vector<const YamlValue::Member*>& members,
                           const YAML::Mark& mark) {
  if (members.empty()) {
    Refuse(mark, "no categories", "Name: [word, word]");
  }
  const YamlValue::Kind kind = members.front()->value.kind;
  for (const YamlValue::Member* member : members) {
    if (member->value.kind == YamlValue::Kind::kText) {
      Refuse(member->value.mark, fmt::format("'{}' has text for its words", member->key),
             fmt::format("write a list: {}: [{}]", member->key,
                         member->value.text.empty() ? "word" : member->value.text));
    }
    if (member->value.kind != kind) {
      Refuse(member->mark,
             fmt::format("'{}' is {}, '{}' before it {}", member->key, KindName(member->value.kind),
                         members.front()->key, KindName(kind)),
             "either categories with lists of words, or axes with maps of categories");
    }
  }
  std::vector<Axis> axes;
  if (kind == YamlValue::Kind::kList) {
    axes.push_back(MakeAxis({}, members));
    return axes;
  }
  for (const YamlValue::Member* member : members) {
    std::vector<const YamlValue::Member*> inner;
    for (const YamlValue::Member& each : member->value.members) {
      inner.push_back(&each);
    }
    if (inner.empty()) {
      Refuse(member->value.mark, fmt::format("axis '{}' has no categories", member->key));
    }
    axes.push_back(MakeAxis(member->key, inner));
  }
  return axes;
}

KeywordsFile KeywordsFrom(const YamlValue& root, const std::string& name) {
  if (root.kind != YamlValue::Kind::kMap) {
    Refuse(root.mark, fmt::format("{} where names with words were expected", KindName(root.kind)),
           "Name: [word, word]");
  }
  KeywordsFile file;
  const YamlValue::Member* keywords = nullptr;
  std::vector<const YamlValue::Member*> rest;
  for (const YamlValue::Member& member : root.members) {
    const bool is_text = member.value.kind == YamlValue::Kind::kText;
    if (member.key == "keywords" && member.value.kind == YamlValue::Kind::kMap) {
      keywords = &member;
    } else if (is_text && (member.key == "profile" || member.key == "expected_sum")) {
      if (member.value.text.empty()) {
        Refuse(member.value.mark, fmt::format("{}: without a value", member.key));
      }
      if (member.key == "profile") {
        file.profile = member.value.text;
      } else {
        file.expected_sum =
            ExpectedSum{member.value.text, fmt::format("{}:{}", name, GetPlace(member.value.mark))};
      }
    } else {
      rest.push_back(&member);
    }
  }
  if (keywords == nullptr) {
    file.dictionary.axes = MakeAxes(rest, root.mark);
    return file;
  }
  if (!rest.empty()) {
    Refuse(rest.front()->mark, fmt::format("'{}' beside keywords: is not known", rest.front()->key),
           fmt::format("{}", kSettings));
  }
  std::vector<const YamlValue::Member*> members;
  for (const YamlValue::Member& member : keywords->value.members) {
    members.push_back(&member);
  }
  file.dictionary.axes = MakeAxes(members, keywords->value.mark);
  return file;
}

// A path in the file is relative to the file's folder.
std::string Beside(const std::string& file, const std::string& path) {
  const std::filesystem::path inner(path);
  if (inner.is_absolute() || path == "-") {
    return path;
  }
  return (std::filesystem::path(file).parent_path() / inner).string();
}

}  // namespace

Result<KeywordsFile> ParseKeywords(std::string_view text, const std::string& name) {
  KeywordsFile file;
  MEMTOOL_TRY(ReadTree(text, name, kKeywordsWords,
                       [&](const YamlValue& root) { file = KeywordsFrom(root, name); }));
  file.dictionary.name = name;
  return file;
}

Result<KeywordsFile> ReadKeywords(const std::string& name) {
  if (name.starts_with("builtin:")) {
    auto builtin = FindBuiltin(name);
    MEMTOOL_TRY(builtin);
    return ParseKeywords(builtin->text, name);
  }
  auto text = ReadTreeText(name, kKeywordsWords);
  if (!text) {
    Error error = std::move(text.error());
    error.input = name;
    return Fail(std::move(error));
  }
  auto file = ParseKeywords(*text, name);
  if (!file) {
    return file;
  }
  if (file->profile) {
    file->profile = Beside(name, *file->profile);
  }
  if (file->expected_sum && file->expected_sum->text.starts_with('@')) {
    file->expected_sum->text = "@" + Beside(name, file->expected_sum->text.substr(1));
  }
  return file;
}

}  // namespace memtool::formats
