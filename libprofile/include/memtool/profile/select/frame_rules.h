// Which code is not the program's own, as data that can be read and extended. One rule needs no
// words: installed packages (site-packages, dist-packages) and Python's own library are not, unless
// a word says otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtool {

// A word is a package's name ("transformers": installed, or run from a checkout of its sources), or
// "/REGEX/" in RE2 syntax, unanchored, of a frame's function or file (with forward slashes).
struct FrameRules {
  struct Group {
    std::string name;
    std::vector<std::string> words;
  };
  // One source of rules; within it, own wins.
  struct Layer {
    std::vector<Group> own;
    std::vector<Group> not_own;
  };
  // The first layer that says something about a frame decides: the command line, a user's file,
  // what is built in.
  std::vector<Layer> layers;
  std::vector<Group> native;         // "/REGEX/" of functions without a Python file: runtimes
  std::vector<std::string> through;  // functions of frameworks that every call passes through
};

// One layer, with what is known of frameworks.
const FrameRules& BuiltinFrameRules();

// The expression of "/REGEX/", or nothing for a package.
std::string_view RegexOfWord(std::string_view word);

}  // namespace memtool
