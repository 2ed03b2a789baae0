// The YAML seam: yaml-cpp's exceptions end here.
#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "memtool/formats/keywords.h"
#include "memtool/formats/source.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/utf8.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kMostBytes = 1U << 20U;
constexpr std::size_t kMostWords = 10'000;
constexpr std::size_t kDeepest = 4;
constexpr std::string_view kSettings = "keywords:, profile: or expected_sum:";

// What is wrong, and where.
struct Refusal {
  YAML::Mark mark;
  ErrorCode code = ErrorCode::kMalformed;
  std::string message;
  std::string hint;
};

[[noreturn]] void Refuse(const YAML::Mark& mark, std::string message, std::string hint = {},
                         ErrorCode code = ErrorCode::kMalformed) {
  throw Refusal{mark, code, std::move(message), std::move(hint)};
}

std::string At(const YAML::Mark& mark) {
  return fmt::format("{}:{}", mark.line + 1, mark.column + 1);
}

// A value of a map: text, a list of texts, or a map.
struct Value {
  enum class Kind : std::uint8_t { kText, kList, kMap };
  struct Member;
  Kind kind = Kind::kText;
  YAML::Mark mark;
  std::string text;
  std::vector<std::pair<std::string, YAML::Mark>> list;
  std::vector<Member> members;  // in file order
};
struct Value::Member {
  std::string key;
  YAML::Mark mark;
  Value value;
};

constexpr std::string_view KindName(Value::Kind kind) {
  return kind == Value::Kind::kText ? "a text" : kind == Value::Kind::kList ? "a list" : "a map";
}

// Builds the tree of maps and lists, which the depth limit keeps small, and refuses all that a
// keywords file does not need.
class Handler final : public YAML::EventHandler {
 public:
  [[nodiscard]] const Value& root() const { return root_; }
  [[nodiscard]] bool empty() const { return documents_ == 0 || !has_root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      Refuse(mark, "a second document", "one keywords file holds one document");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const bool is_value = !open_.empty() && open_.back()->kind == Value::Kind::kMap && pending_key_;
    if (!open_.empty() && !is_value) {
      Refuse(mark, "nothing, or the bare word null", "put it in quotes");
    }
    OnScalar(mark, "?", anchor, "");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    Refuse(mark, "an alias", "write the words out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Check(mark, tag, anchor);
    if (open_.empty()) {
      Put({.kind = Value::Kind::kText, .mark = mark, .text = text});
      return;
    }
    Value& parent = *open_.back();
    if (parent.kind == Value::Kind::kList) {
      if (++words_ > kMostWords) {
        Refuse(mark, fmt::format("more than {} words", kMostWords), {}, ErrorCode::kLimit);
      }
      parent.list.emplace_back(text, mark);
    } else if (!pending_key_) {
      AddKey(parent, mark, text);
    } else {
      Put({.kind = Value::Kind::kText, .mark = mark, .text = text});
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(Value::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(Value::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  static void Check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) {
      Refuse(mark, "an anchor", "write the words out");
    }
    // "!" is what yaml-cpp gives for quoted text, "?" for plain.
    if (!tag.empty() && tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:str") {
      Refuse(mark, fmt::format("a type tag '{}'", tag), "everything here is text");
    }
  }

  void AddKey(Value& parent, const YAML::Mark& mark, const std::string& key) {
    if (key == "<<") {
      Refuse(mark, "a merge key", "write the words out");
    }
    if (key.empty()) {
      Refuse(mark, "an empty name");
    }
    const auto [it, added] = keys_[&parent].try_emplace(key, mark);
    if (!added) {
      Refuse(mark, fmt::format("'{}' is there twice, first at {}", key, At(it->second)),
             "put the words of both into one list");
    }
    parent.members.push_back({.key = key, .mark = mark, .value = {}});
    pending_key_ = true;
  }

  void Open(Value::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    Check(mark, tag, anchor);
    if (!open_.empty() && open_.back()->kind == Value::Kind::kList) {
      Refuse(mark, fmt::format("{} inside a list of words", KindName(kind)));
    }
    if (!open_.empty() && open_.back()->kind == Value::Kind::kMap && !pending_key_) {
      Refuse(mark, fmt::format("{} in place of a name", KindName(kind)));
    }
    if (open_.size() >= kDeepest) {
      Refuse(mark, "nested too deep", "keywords, axis, category, words", ErrorCode::kLimit);
    }
    open_.push_back(Put({.kind = kind, .mark = mark}));
  }

  Value* Put(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
      has_root_ = true;
      return &root_;
    }
    // Members of a map grow only while the map is the innermost open one, so that pointers to the
    // values of maps around it stay.
    Value& slot = open_.back()->members.back().value;
    slot = std::move(value);
    pending_key_ = false;
    return &slot;
  }

  Value root_;
  bool has_root_ = false;
  int documents_ = 0;
  std::size_t words_ = 0;
  bool pending_key_ = false;
  std::vector<Value*> open_;
  std::map<const Value*, std::map<std::string, YAML::Mark>> keys_;
};

Category MakeCategory(const Value::Member& member) {
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

Axis MakeAxis(std::string name, const std::vector<const Value::Member*>& members) {
  Axis axis{.name = std::move(name), .categories = {}};
  for (const Value::Member* member : members) {
    if (member->value.kind != Value::Kind::kList) {
      Refuse(member->value.mark,
             fmt::format("the words of '{}' are {}", member->key, KindName(member->value.kind)),
             fmt::format("write a list: {}: [word, word]", member->key));
    }
    axis.categories.push_back(MakeCategory(*member));
  }
  return axis;
}

// One axis (Name: list) or a map of axes (axis: {Name: list}).
std::vector<Axis> MakeAxes(const std::vector<const Value::Member*>& members,
                           const YAML::Mark& mark) {
  if (members.empty()) {
    Refuse(mark, "no categories", "Name: [word, word]");
  }
  const Value::Kind kind = members.front()->value.kind;
  for (const Value::Member* member : members) {
    if (member->value.kind == Value::Kind::kText) {
      Refuse(member->value.mark, fmt::format("'{}' has a text for its words", member->key),
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
  if (kind == Value::Kind::kList) {
    axes.push_back(MakeAxis({}, members));
    return axes;
  }
  for (const Value::Member* member : members) {
    std::vector<const Value::Member*> inner;
    for (const Value::Member& each : member->value.members) {
      inner.push_back(&each);
    }
    if (inner.empty()) {
      Refuse(member->value.mark, fmt::format("axis '{}' has no categories", member->key));
    }
    axes.push_back(MakeAxis(member->key, inner));
  }
  return axes;
}

KeywordsFile Interpret(const Value& root) {
  if (root.kind != Value::Kind::kMap) {
    Refuse(root.mark, fmt::format("{} where names with words were expected", KindName(root.kind)),
           "Name: [word, word]");
  }
  KeywordsFile file;
  const Value::Member* keywords = nullptr;
  std::vector<const Value::Member*> rest;
  for (const Value::Member& member : root.members) {
    const bool is_text = member.value.kind == Value::Kind::kText;
    if (member.key == "keywords" && member.value.kind == Value::Kind::kMap) {
      keywords = &member;
    } else if (is_text && (member.key == "profile" || member.key == "expected_sum")) {
      if (member.value.text.empty()) {
        Refuse(member.value.mark, fmt::format("{}: without a value", member.key));
      }
      (member.key == "profile" ? file.profile : file.expected_sum) = member.value.text;
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
  std::vector<const Value::Member*> members;
  for (const Value::Member& member : keywords->value.members) {
    members.push_back(&member);
  }
  file.dictionary.axes = MakeAxes(members, keywords->value.mark);
  return file;
}

Error ErrorAt(const std::string& name, const Refusal& refusal) {
  const std::string place = refusal.mark.is_null() ? std::string() : ":" + At(refusal.mark);
  return {.code = refusal.code,
          .input = name + place,
          .message = refusal.message,
          .hint = refusal.hint};
}

// yaml-cpp lets bytes through that are not text.
void CheckText(std::string_view text) {
  YAML::Mark mark;
  const std::size_t bad = FirstInvalidUtf8(text);
  const std::size_t nul = text.find('\0');
  const std::size_t at = std::min(bad, nul);
  if (at == std::string_view::npos) {
    return;
  }
  const std::string_view before = text.substr(0, at);
  mark.pos = static_cast<int>(at);
  mark.line = static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  mark.column = static_cast<int>(at - (before.rfind('\n') + 1));
  Refuse(mark, nul < bad ? "a NUL byte" : "bytes that are not UTF-8", "save it as UTF-8 text");
}

// A path in the file is meant from where the file is.
std::string Beside(const std::string& file, const std::string& path) {
  const std::filesystem::path inner(path);
  if (inner.is_absolute() || path == "-") {
    return path;
  }
  return (std::filesystem::path(file).parent_path() / inner).string();
}

Result<std::string> ReadAll(const std::string& path) {
  auto source = path == "-" ? MakeFdSource(0, false) : nullptr;
  if (source == nullptr) {
    auto opened = OpenFile(path);
    MEMTOOL_TRY(opened);
    source = *std::move(opened);
  }
  std::string text(kMostBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    auto got = source->Read(std::as_writable_bytes(std::span(text).subspan(size)));
    MEMTOOL_TRY(got);
    if (*got == 0) {
      break;
    }
    size += *got;
  }
  if (size > kMostBytes) {
    return Fail(Error{.code = ErrorCode::kLimit,
                      .input = path,
                      .message = "a keywords file of more than 1 MiB",
                      .hint = "is this the profile? give that as FILE"});
  }
  text.resize(size);
  return text;
}

}  // namespace

Result<KeywordsFile> ParseKeywords(std::string_view text, const std::string& name) {
  try {
    CheckText(text);
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    Handler handler;
    while (parser.HandleNextDocument(handler)) {
    }
    if (handler.empty()) {
      Refuse(YAML::Mark(), "an empty keywords file", "Name: [word, word]");
    }
    KeywordsFile file = Interpret(handler.root());
    file.dictionary.name = name;
    return file;
  } catch (const Refusal& refusal) {
    return Fail(ErrorAt(name, refusal));
  } catch (const YAML::DeepRecursion&) {
    return Fail(Error{.code = ErrorCode::kLimit, .input = name, .message = "nested too deep"});
  } catch (const YAML::Exception& error) {
    return Fail(ErrorAt(name, {error.mark, ErrorCode::kMalformed, "not YAML: " + error.msg, {}}));
  }
}

Result<KeywordsFile> ReadKeywords(const std::string& name) {
  if (name.starts_with("builtin:")) {
    auto builtin = FindBuiltin(name);
    MEMTOOL_TRY(builtin);
    return ParseKeywords(builtin->text, name);
  }
  auto text = ReadAll(name);
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
  if (file->expected_sum && file->expected_sum->starts_with('@')) {
    file->expected_sum = "@" + Beside(name, file->expected_sum->substr(1));
  }
  return file;
}

}  // namespace memtool::formats
