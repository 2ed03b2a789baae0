// Keyword files (YAML or JSON) → Dictionary, and the dictionaries that come with the program.
//
//   profile: memory.csv            # the input, relative to this file
//   expected_sum: 9077MiB          # or @FILE, relative to this file
//   keywords:
//     layer: # an axis; with one axis the lists may be given here directly
//       Attention: [att_]          # category: words (memtool/profile/keywords/keywords.h)
//       RNN: [rnn, "/lstm|gru/"]
//
// Without the key `keywords` the top level is the axes (or one axis) itself. YAML is read as
// events: no anchors, aliases, tags, merge keys or second documents, every scalar is text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/keywords/keywords.h"

namespace memtool::formats {

struct ExpectedSum {
  std::string text;   // as --expected-sum takes it
  std::string place;  // where it stands: "k.yaml:3:15"
};

struct KeywordsFile {
  Dictionary dictionary;
  std::optional<std::string> profile;  // a path as commands take it
  std::optional<ExpectedSum> expected_sum;
};

// `name`: a path, or "builtin:mxnet". Errors: kIo; kMalformed with line and column for what is not
// a keywords file; kLimit past 1 MiB, 10,000 words or four levels; kUsage for an unknown builtin.
Result<KeywordsFile> ReadKeywords(const std::string& name);
// The same from text; `name` goes into errors.
Result<KeywordsFile> ParseKeywords(std::string_view text, const std::string& name);

struct BuiltinKeywords {
  std::string_view name;  // "pytorch"
  std::string_view text;  // YAML
};
std::span<const BuiltinKeywords> BuiltinDictionaries();
// "builtin:pytorch" or "pytorch". Errors: kUsage naming those there are.
Result<BuiltinKeywords> FindBuiltin(std::string_view name);

}  // namespace memtool::formats
