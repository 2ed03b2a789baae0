// An option whose value is one of a few words.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "words/words.h"

namespace memtool::commands {

template <class T>
struct Choice {
  std::string_view word;
  T value;
};

// What `word` stands for. Errors: kUsage, with all choices as its hint.
template <class T, std::size_t kCount>
Result<T> Choose(std::string_view option, std::string_view word,
                 const std::array<Choice<T>, kCount>& choices) {
  std::array<std::string_view, kCount> words;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (choices[i].word == word) {
      return choices[i].value;
    }
    words[i] = choices[i].word;
  }
  return Fail(ErrorCode::kUsage,
              std::string(option) + ": '" + std::string(word) + "' is not a choice", OneOf(words));
}

}  // namespace memtool::commands
