#include "memtool/profile/keywords/keywords.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/label_text.h"
#include "select/tag_matcher.h"

namespace memtool {

namespace {

constexpr std::string_view kLabelPrefix = "label:";
constexpr std::string_view kFilePrefix = "file:";
constexpr std::string_view kRestPrefix = "rest:";
constexpr std::string_view kNestedPrefix = "nested:";

bool HasValue(const Recording& recording, const Label& label, const Word& word) {
  if (recording.Text(label.key) != word.key) {
    return false;
  }
  if (!label.numeric) {
    return recording.Text(label.text) == word.text;
  }
  const std::string_view unit = recording.Text(label.unit);
  const std::string number = std::to_string(label.number);
  return word.text == number || (!unit.empty() && word.text == fmt::format("{} {}", number, unit));
}

}  // namespace

std::optional<std::size_t> AxisIndex(const Dictionary& dictionary, std::string_view name) {
  const auto it =
      std::find_if(dictionary.axes.begin(), dictionary.axes.end(),
                   [name](const Axis& axis) { return name.empty() || axis.name == name; });
  if (it == dictionary.axes.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(it - dictionary.axes.begin());
}

Result<Word> ParseWord(std::string_view written) {
  if (written.starts_with(kRestPrefix) &&
      !written.substr(kRestPrefix.size()).starts_with(kRestPrefix)) {
    auto word = ParseWord(written.substr(kRestPrefix.size()));
    MEMTOOL_TRY(word);
    word->written = written;
    word->rest = true;
    return word;
  }
  if (written.starts_with(kNestedPrefix)) {
    auto word = ParseWord(written.substr(kNestedPrefix.size()));
    MEMTOOL_TRY(word);
    if (word->rest || word->nested || word->kind == Word::Kind::kLabel ||
        word->kind == Word::Kind::kFile) {
      return Fail(
          ErrorCode::kUsage,
          fmt::format("'{}': nested: is for functions: nested:TEXT or nested:/REGEX/", written));
    }
    word->written = written;
    word->nested = true;
    return word;
  }
  if (written.empty()) {
    return Fail(ErrorCode::kUsage, "an empty word would match everything", "leave it out");
  }
  Word word{.text = std::string(written), .written = std::string(written)};
  if (written.starts_with(kLabelPrefix)) {
    const std::string_view rest = written.substr(kLabelPrefix.size());
    const std::size_t equals = rest.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return Fail(ErrorCode::kUsage, fmt::format("'{}' is not label:KEY=VALUE", written));
    }
    word.kind = Word::Kind::kLabel;
    word.key = rest.substr(0, equals);
    word.text = rest.substr(equals + 1);
  } else if (written.starts_with(kFilePrefix)) {
    word.kind = Word::Kind::kFile;
    word.text = written.substr(kFilePrefix.size());
    if (word.text.empty()) {
      return Fail(ErrorCode::kUsage, "file: without a text would match everything", "leave it out");
    }
  } else if (written.size() > 2 && written.front() == '/' && written.back() == '/') {
    word.kind = Word::Kind::kRegex;
    word.text = written.substr(1, written.size() - 2);
    const RE2 regex(word.text, RE2::Quiet);
    if (!regex.ok()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("'{}' is not a regular expression: {}", written, regex.error()));
    }
  }
  return word;
}

struct Keywords::Compiled {
  std::vector<std::unique_ptr<RE2>> regexes;  // per word number; null for other kinds
};

Keywords::Keywords(Dictionary dictionary) : dictionary_(std::move(dictionary)) {}

Result<Keywords> Keywords::Compile(Dictionary dictionary) {
  Keywords keywords(std::move(dictionary));
  const auto compiled = std::make_shared<Compiled>();
  keywords.compiled_ = compiled;
  const auto& axes = keywords.dictionary_.axes;
  for (std::uint32_t a = 0; a < axes.size(); ++a) {
    for (std::uint32_t c = 0; c < axes[a].categories.size(); ++c) {
      const auto& words = axes[a].categories[c].words;
      for (std::uint32_t w = 0; w < words.size(); ++w) {
        const bool is_regex = words[w].kind == Word::Kind::kRegex;
        auto regex = CompileRegex("--keywords", is_regex ? words[w].text : std::string());
        MEMTOOL_TRY(regex);
        keywords.places_.push_back({a, c, w});
        compiled->regexes.push_back(*std::move(regex));
      }
    }
  }
  return keywords;
}

const Word& Keywords::word(std::uint32_t number) const {
  const WordPlace& place = places_[number];
  return dictionary_.axes[place.axis].categories[place.category].words[place.word];
}

bool Keywords::Matches(std::uint32_t number, std::string_view text) const {
  const Word& wanted = word(number);
  if (wanted.kind == Word::Kind::kRegex) {
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()),
                             *compiled_->regexes[number]);
  }
  if (wanted.kind == Word::Kind::kFile) {
    // Windows writes the same paths with the other slash.
    return std::search(text.begin(), text.end(), wanted.text.begin(), wanted.text.end(),
                       [](char a, char b) { return a == b || (a == '\\' && b == '/'); }) !=
           text.end();
  }
  return wanted.kind != Word::Kind::kLabel && text.find(wanted.text) != std::string_view::npos;
}

Keywords::Place Keywords::PlaceOf(std::uint32_t number) const {
  const Word& wanted = word(number);
  return wanted.nested                      ? Place::kNested
         : wanted.kind == Word::Kind::kFile ? Place::kFile
                                            : Place::kName;
}

std::vector<std::uint32_t> Keywords::Find(std::string_view text, Place place) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t number = 0; number < places_.size(); ++number) {
    if (PlaceOf(number) == place && Matches(number, text)) {
      found.push_back(number);
    }
  }
  return found;
}

std::optional<std::uint32_t> DecidingWord(const Keywords& keywords,
                                          std::span<const std::uint32_t> words, std::size_t axis) {
  std::optional<std::uint32_t> rest;
  for (const std::uint32_t word : words) {
    if (keywords.places()[word].axis != axis) {
      continue;
    }
    if (!keywords.word(word).rest) {
      return word;
    }
    rest = rest ? rest : word;
  }
  return rest;
}

KeywordMatches::KeywordMatches(const Keywords& keywords, const Recording& recording)
    : keywords_(keywords),
      recording_(recording),
      by_name_(recording.stack_count()),
      by_file_(recording.stack_count()) {
  text_words_.fill(std::vector<WordSetId>(recording.strings.size()));
  Intern({});
  nameless_ = Intern(keywords.Find(kNoStack, Keywords::Place::kName));
  MatchLabels();
}

WordSetId KeywordMatches::Intern(std::vector<std::uint32_t> words) {
  const auto [it, added] = index_.try_emplace(std::move(words), WordSetId(sets_.size()));
  if (added) {
    sets_.push_back(it->first);
  }
  return it->second;
}

WordSetId KeywordMatches::Union(WordSetId a, WordSetId b) {
  const WordSetId none(std::uint32_t{0});
  if (a == none || a == b) {
    return b;
  }
  if (b == none) {
    return a;
  }
  const auto [low, high] = std::minmax({a.value(), b.value()});
  const std::uint64_t pair = static_cast<std::uint64_t>(low) << 32U | high;
  if (const std::uint32_t known = unions_.Get(pair); known != RowMap::kNone) {
    return WordSetId(known);
  }
  std::vector<std::uint32_t> words;
  const auto& left = sets_[a.value()];
  const auto& right = sets_[b.value()];
  std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(words));
  const WordSetId both = Intern(std::move(words));
  unions_.Put(pair, both.value());
  return both;
}

void KeywordMatches::MatchLabels() {
  tags_.resize(recording_.label_set_count());
  label_words_.resize(recording_.label_set_count(), WordSetId(std::uint32_t{0}));
  for (std::uint32_t set = 0; set < recording_.label_set_count(); ++set) {
    std::vector<std::uint32_t> words;
    for (const Label& label : recording_.Labels(LabelSetId(set))) {
      for (std::uint32_t number = 0; number < keywords_.places().size(); ++number) {
        const Word& word = keywords_.word(number);
        if (word.kind == Word::Kind::kLabel && HasValue(recording_, label, word)) {
          words.push_back(number);
        }
      }
      if (!label.numeric && recording_.Text(label.key) == kTagKey) {
        tags_[set] = label.text;
      }
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    label_words_[set] = Intern(std::move(words));
    if (const StringId tag = tags_[set]; tag.valid()) {
      label_words_[set] = Union(label_words_[set], OfText(tag, Keywords::Place::kName));
    }
  }
}

WordSetId KeywordMatches::Intersection(WordSetId a, WordSetId b) {
  const WordSetId none(std::uint32_t{0});
  if (a == b || a == none || b == none) {
    return a == b ? a : none;
  }
  std::vector<std::uint32_t> words;
  const auto& left = sets_[a.value()];
  const auto& right = sets_[b.value()];
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                        std::back_inserter(words));
  return Intern(std::move(words));
}

WordSetId KeywordMatches::OfText(StringId text, Keywords::Place place) {
  if (!text.valid()) {
    return WordSetId(std::uint32_t{0});
  }
  WordSetId& words = text_words_[static_cast<std::size_t>(place)][text.value()];
  if (!words.valid()) {
    words = Intern(keywords_.Find(recording_.Text(text), place));
  }
  return words;
}

WordSetId KeywordMatches::OfStack(StackId id, bool names) {
  WordSetId& cached = names ? by_name_[id.value()] : by_file_[id.value()];
  if (cached.valid()) {
    return cached;
  }
  WordSetId words(std::uint32_t{0});
  WordSetId called(std::uint32_t{0});  // of the frame before
  for (const LocationId id_of_location : recording_.Stack(id)) {
    const Location& location = recording_.At(id_of_location);
    if (location.mapping.valid()) {
      words = Union(words, OfText(recording_.mappings[location.mapping.value()].filename,
                                  Keywords::Place::kFile));
    }
    for (const Line& line : recording_.Lines(location)) {
      if (line.function.valid()) {
        const Function& function = recording_.functions[line.function.value()];
        words = Union(words, OfText(function.filename, Keywords::Place::kFile));
        if (names) {
          words = Union(words, OfText(function.name, Keywords::Place::kName));
          const WordSetId calling = OfText(function.name, Keywords::Place::kNested);
          words = Union(words, Intersection(called, calling));
          called = calling;
        }
      }
    }
  }
  if (names && recording_.Stack(id).empty()) {
    words = nameless_;
  }
  cached = words;
  return words;
}

WordSetId KeywordMatches::Of(StackId stack, LabelSetId labels) {
  const bool tagged = OnlyTag(labels);
  return Union(label_words_[labels.value()], OfStack(stack, !tagged));
}

std::string_view KeywordMatches::MatchedText(std::uint32_t word, StackId stack, LabelSetId labels) {
  const Word& wanted = keywords_.word(word);
  if (wanted.kind == Word::Kind::kLabel) {
    return {};
  }
  if (const StringId tag = GetTag(labels);
      tag.valid() && wanted.kind != Word::Kind::kFile &&
      (OnlyTag(labels) || IsIn(word, OfText(tag, Keywords::Place::kName)))) {
    return recording_.Text(tag);
  }
  for (const LocationId location : recording_.Stack(stack)) {
    if (const auto text = MatchedIn(word, recording_.At(location))) {
      return *text;
    }
  }
  return kNoStack;
}

bool KeywordMatches::IsIn(std::uint32_t word, WordSetId set) const {
  const auto& words = sets_[set.value()];
  return std::binary_search(words.begin(), words.end(), word);
}

std::optional<std::string_view> KeywordMatches::MatchedIn(std::uint32_t word,
                                                          const Location& location) {
  const Keywords::Place place = keywords_.PlaceOf(word);
  const bool file = place == Keywords::Place::kFile;
  for (const Line& line : recording_.Lines(location)) {
    if (line.function.valid()) {
      const Function& function = recording_.functions[line.function.value()];
      const StringId text = file ? function.filename : function.name;
      if (IsIn(word, OfText(text, place))) {
        return recording_.Text(text);
      }
    }
  }
  if (file && location.mapping.valid()) {
    const StringId text = recording_.mappings[location.mapping.value()].filename;
    if (IsIn(word, OfText(text, place))) {
      return recording_.Text(text);
    }
  }
  return std::nullopt;
}

}  // namespace memtool
