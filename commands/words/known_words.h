// Values of an option of which the program knows the words; completions offer them.
#pragma once

#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "words/choice.h"

namespace memtool::commands {

namespace po = boost::program_options;

struct KnownWords {
  std::vector<std::string> words{};  // what ends in ':', '=' or '@' goes on after that
  bool files = false;                // a file's name is a value too
  bool list = false;                 // several words, with commas between them
  bool others = false;               // these are not all
};

template <class T, std::size_t kCount>
KnownWords ToWords(const std::array<Choice<T>, kCount>& choices) {
  KnownWords known;
  for (const Choice<T>& choice : choices) {
    known.words.emplace_back(choice.word);
  }
  return known;
}

// The axes that a row, frame or node can have (ParseBy): those of frames; with stacks, labels and
// buckets, for anything that is allocated; with what only samples have.
enum class Rows : std::uint8_t { kFrames, kAllocations, kSamples };
KnownWords ByWords(Rows rows);
KnownWords MomentWords();   // of ParseMoment
KnownWords KeywordFiles();  // a file, or "builtin:pytorch" and so on

// Beside an option's value.
class WithWords {
 public:
  explicit WithWords(KnownWords known) : known_(std::move(known)) {}
  virtual ~WithWords() = default;
  WithWords(const WithWords&) = delete;
  WithWords& operator=(const WithWords&) = delete;
  [[nodiscard]] const KnownWords& known() const { return known_; }

 private:
  KnownWords known_;
};

template <class T>
class ValueWithWords final : public po::typed_value<T>, public WithWords {
 public:
  ValueWithWords(T* to, KnownWords known) : po::typed_value<T>(to), WithWords(std::move(known)) {}
};

// po::value(to), with words; the option that it is given to owns it, as it does po::value's.
template <class T>
po::typed_value<T>* ToValue(T* to, KnownWords known) {
  return new ValueWithWords<T>(to, std::move(known));  // NOLINT(cppcoreguidelines-owning-memory)
}

}  // namespace memtool::commands
