// Keyword dictionaries: categories by words, and which words a sample matches.
//
// A dictionary has one or more axes (layers, kinds of data); each axis splits all bytes into its
// categories, first match in file order wins. The rules are those of MXNet's profile analyser, made
// exact: a word is a case-sensitive substring of a sample's tag, or of the function of any of its
// frames, hidden ones included; a rest:WORD has what no other word has. Where frames are parts of
// the tag, the tag alone counts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

// The label that holds a tag log's name of an allocation.
inline constexpr std::string_view kTagKey = "tag";
// Rows that every axis may have besides its categories.
inline constexpr std::string_view kOthers = "Others";
inline constexpr std::string_view kUntrackable = "Untrackable";

struct Word {
  enum class Kind : std::uint8_t {
    kText,   // TEXT: substring of tag or function
    kRegex,  // /REGEX/: RE2, unanchored, of the same
    kLabel,  // label:KEY=VALUE: a label with exactly this value ("16384" or "16384 bytes")
    kFile,   // file:TEXT: substring of any frame's file (with / or, on Windows, backslashes), or of
             // the library that its code is in
  };
  Kind kind = Kind::kText;
  std::string key;   // of kLabel
  std::string text;  // what is looked for
  std::string written;
  bool rest = false;    // rest:WORD: counts only for what no other word of the axis matches
  bool nested = false;  // nested:WORD: in a frame's function and in that of the one that called it
};

struct Category {
  std::string name;
  std::vector<Word> words;
};

struct Axis {
  std::string name;  // empty when the dictionary has one axis without a name
  std::vector<Category> categories;
};

struct Dictionary {
  std::string name;  // for headers: a file's name, "builtin:pytorch"
  std::vector<Axis> axes;
};

// The axis with this name, or the first when the name is empty.
std::optional<std::size_t> AxisIndex(const Dictionary& dictionary, std::string_view name);

// Errors: kUsage for an empty word, a regular expression that does not compile, a label without a
// key.
Result<Word> ParseWord(std::string_view written);

// A word's place in its dictionary.
struct WordPlace {
  std::uint32_t axis = 0;
  std::uint32_t category = 0;
  std::uint32_t word = 0;
};

// A dictionary ready to match; used on any number of recordings, from any thread. Copies share what
// was compiled.
class Keywords {
 public:
  // Errors: those of ParseWord.
  static Result<Keywords> Compile(Dictionary dictionary);

  [[nodiscard]] const Dictionary& dictionary() const { return dictionary_; }
  // All words of all axes in file order; a word's number is its row.
  [[nodiscard]] const std::vector<WordPlace>& places() const { return places_; }
  [[nodiscard]] const Word& word(std::uint32_t number) const;

 private:
  friend class KeywordMatches;
  struct Compiled;
  explicit Keywords(Dictionary dictionary);
  // Where a word is looked for.
  enum class Place : std::uint8_t { kName, kFile, kNested };
  [[nodiscard]] Place PlaceOf(std::uint32_t number) const;
  // True when a word of kind kText or kRegex is in `text`, or one of kFile in the file name `text`.
  [[nodiscard]] bool Matches(std::uint32_t number, std::string_view text) const;
  // The numbers of the words that match a tag or function name, a file name, or with kNested the
  // function name of one frame of two.
  [[nodiscard]] std::vector<std::uint32_t> Find(std::string_view text, Place place) const;

  Dictionary dictionary_;
  std::vector<WordPlace> places_;
  std::shared_ptr<const Compiled> compiled_;
};

// The word that decides on an axis, of those that match in ascending order: the first, or of words
// for the rest the first where there is no other. None: the bytes are in Others.
std::optional<std::uint32_t> DecidingWord(const Keywords& keywords,
                                          std::span<const std::uint32_t> words, std::size_t axis);

using WordSetId = Id<struct WordSetTag>;

// The words that match in one recording. Texts are searched once each, stacks and label sets
// answered once each; equal answers are one set.
class KeywordMatches {
 public:
  // Both are kept by reference and must outlive this.
  KeywordMatches(const Keywords& keywords, const Recording& recording);

  // The words that match a sample.
  WordSetId Of(StackId stack, LabelSetId labels);
  // Ascending word numbers.
  [[nodiscard]] std::span<const std::uint32_t> Words(WordSetId id) const {
    return sets_[id.value()];
  }
  [[nodiscard]] std::size_t set_count() const { return sets_.size(); }
  // The text in which a word was found: the tag, or the function or file of the innermost frame
  // that has it, or kNoStack. Empty for a word of kind kLabel.
  [[nodiscard]] std::string_view MatchedText(std::uint32_t word, StackId stack, LabelSetId labels);
  // A sample's tag, or nothing.
  [[nodiscard]] StringId GetTag(LabelSetId labels) const { return tags_[labels.value()]; }

 private:
  WordSetId Intern(std::vector<std::uint32_t> words);
  WordSetId Union(WordSetId a, WordSetId b);
  WordSetId Intersection(WordSetId a, WordSetId b);
  void MatchLabels();
  // The words in a text, which is searched once whatever has it as its name.
  WordSetId OfText(StringId text, Keywords::Place place);
  [[nodiscard]] bool IsIn(std::uint32_t word, WordSetId set) const;
  // True when the words of a sample are its tag's alone.
  [[nodiscard]] bool OnlyTag(LabelSetId labels) const {
    return GetTag(labels).valid() && recording_.metadata.frames_are_scopes;
  }
  std::optional<std::string_view> MatchedIn(std::uint32_t word, const Location& location);
  // Of the files of all frames, or of names and files.
  WordSetId OfStack(StackId id, bool names);

  const Keywords& keywords_;
  const Recording& recording_;
  std::vector<std::vector<std::uint32_t>> sets_;  // [0] is empty
  std::map<std::vector<std::uint32_t>, WordSetId> index_;
  RowMap unions_;                       // of two sets, the smaller first
  std::vector<StringId> tags_;          // per label set
  std::vector<WordSetId> label_words_;  // per label set: of the tag and of labels
  // None = not asked yet.
  std::array<std::vector<WordSetId>, 3> text_words_;  // per Keywords::Place, per text
  std::vector<WordSetId> by_name_;                    // per stack: of names and files
  std::vector<WordSetId> by_file_;                    // per stack: of files
  WordSetId nameless_;                                // of what has neither a tag nor frames
};

}  // namespace memtool
