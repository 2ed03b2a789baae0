// The YAML seam: text → maps, lists and texts; yaml-cpp's exceptions end here. Read as events: no
// anchors, aliases, tags, merge keys or second documents, every scalar is text.
#pragma once

#include <yaml-cpp/mark.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/result.h"

namespace memtool::formats {

// What is wrong, and where; thrown within ReadTree only.
struct Refusal {
  YAML::Mark mark;
  ErrorCode code = ErrorCode::kMalformed;
  std::string message;
  std::string hint;
};
// "LINE:COLUMN", from 1.
std::string GetPlace(const YAML::Mark& mark);
[[noreturn]] void Refuse(const YAML::Mark& mark, std::string message, std::string hint = {},
                         ErrorCode code = ErrorCode::kMalformed);

// A value of a map: text, a list of texts, or a map.
struct YamlValue {
  enum class Kind : std::uint8_t { kText, kList, kMap };
  struct Member;
  Kind kind = Kind::kText;
  YAML::Mark mark;
  std::string text;
  std::vector<std::pair<std::string, YAML::Mark>> list;
  std::vector<Member> members;  // in file order
};
struct YamlValue::Member {
  std::string key;
  YAML::Mark mark;
  YamlValue value;
};

// "a text", "a list", "a map"
std::string_view KindName(YamlValue::Kind kind);

// How messages describe such a file of words.
struct TreeWords {
  std::string_view noun;     // "keywords file"
  std::string_view example;  // "Name: [word, word]"
  std::string_view nesting;  // "keywords, axis, category, words"
};

// Passes the root to `use`, which may Refuse. `name` goes into errors: kMalformed with line and
// column; kLimit past 10,000 words or four levels.
Result<void> ReadTree(std::string_view text, const std::string& name, const TreeWords& words,
                      const std::function<void(const YamlValue&)>& use);

// A file's text, or stdin's ("-"). Errors: kIo; kLimit past 1 MiB.
Result<std::string> ReadTreeText(const std::string& path, const TreeWords& words);

}  // namespace memtool::formats
