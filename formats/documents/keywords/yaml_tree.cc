#include "documents/keywords/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <span>
#include <sstream>

#include "memtool/formats/source.h"
#include "memtool/profile/base/utf8.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kMaxByteCount = 1U << 20U;
constexpr std::size_t kMaxWords = 10'000;
constexpr std::size_t kDeepest = 4;

// Builds the tree of maps and lists, which the depth limit keeps small, and refuses all that a file
// of words does not need.
class TreeHandler final : public YAML::EventHandler {
 public:
  explicit TreeHandler(const TreeWords& words) : words_(words) {}
  [[nodiscard]] const YamlValue& root() const { return root_; }
  [[nodiscard]] bool empty() const { return documents_ == 0 || !has_root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      Refuse(mark, "a second document", fmt::format("one {} holds one document", words_.noun));
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const bool is_value =
        !open_.empty() && open_.back()->kind == YamlValue::Kind::kMap && pending_key_;
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
      Put({.kind = YamlValue::Kind::kText, .mark = mark, .text = text});
      return;
    }
    YamlValue& parent = *open_.back();
    if (parent.kind == YamlValue::Kind::kList) {
      if (++count_ > kMaxWords) {
        Refuse(mark, fmt::format("more than {} words", kMaxWords), {}, ErrorCode::kLimit);
      }
      parent.list.emplace_back(text, mark);
    } else if (!pending_key_) {
      AddKey(parent, mark, text);
    } else {
      Put({.kind = YamlValue::Kind::kText, .mark = mark, .text = text});
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(YamlValue::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(YamlValue::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override {
    keys_.erase(open_.back());  // another map may come to lie there
    open_.pop_back();
  }

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

  void AddKey(YamlValue& parent, const YAML::Mark& mark, const std::string& key) {
    if (key == "<<") {
      Refuse(mark, "a merge key", "write the words out");
    }
    if (key.empty()) {
      Refuse(mark, "an empty name");
    }
    const auto [it, added] = keys_[&parent].try_emplace(key, mark);
    if (!added) {
      Refuse(mark, fmt::format("'{}' occurs twice, first at {}", key, GetPlace(it->second)),
             "put the words of both into one list");
    }
    parent.members.push_back({.key = key, .mark = mark, .value = {}});
    pending_key_ = true;
  }

  void Open(YamlValue::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    Check(mark, tag, anchor);
    if (!open_.empty() && open_.back()->kind == YamlValue::Kind::kList) {
      Refuse(mark, fmt::format("{} inside a list of words", KindName(kind)));
    }
    if (!open_.empty() && open_.back()->kind == YamlValue::Kind::kMap && !pending_key_) {
      Refuse(mark, fmt::format("{} in place of a name", KindName(kind)));
    }
    if (open_.size() >= kDeepest) {
      Refuse(mark, "nested too deep", std::string(words_.nesting), ErrorCode::kLimit);
    }
    open_.push_back(Put({.kind = kind, .mark = mark}));
  }

  YamlValue* Put(YamlValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
      has_root_ = true;
      return &root_;
    }
    // Members of a map grow only while the map is the innermost open one, so pointers to values of
    // the enclosing maps stay valid.
    YamlValue& slot = open_.back()->members.back().value;
    slot = std::move(value);
    pending_key_ = false;
    return &slot;
  }

  const TreeWords& words_;
  YamlValue root_;
  bool has_root_ = false;
  int documents_ = 0;
  std::size_t count_ = 0;
  bool pending_key_ = false;
  std::vector<YamlValue*> open_;
  std::map<const YamlValue*, std::map<std::string, YAML::Mark>> keys_;
};

Error ErrorAt(const std::string& name, const Refusal& refusal) {
  const std::string place = refusal.mark.is_null() ? std::string() : ":" + GetPlace(refusal.mark);
  return {.code = refusal.code,
          .input = name + place,
          .message = refusal.message,
          .hint = refusal.hint};
}

// yaml-cpp lets through bytes that are not text.
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

}  // namespace

std::string GetPlace(const YAML::Mark& mark) {
  return fmt::format("{}:{}", mark.line + 1, mark.column + 1);
}

void Refuse(const YAML::Mark& mark, std::string message, std::string hint, ErrorCode code) {
  throw Refusal{mark, code, std::move(message), std::move(hint)};
}

std::string_view KindName(YamlValue::Kind kind) {
  return kind == YamlValue::Kind::kText   ? "a text"
         : kind == YamlValue::Kind::kList ? "a list"
                                          : "a map";
}

Result<void> ReadTree(std::string_view text, const std::string& name, const TreeWords& words,
                      const std::function<void(const YamlValue&)>& use) {
  try {
    CheckText(text);
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    TreeHandler handler(words);
    while (parser.HandleNextDocument(handler)) {
    }
    if (handler.empty()) {
      Refuse(YAML::Mark(), fmt::format("an empty {}", words.noun), std::string(words.example));
    }
    use(handler.root());
    return {};
  } catch (const Refusal& refusal) {
    return Fail(ErrorAt(name, refusal));
  } catch (const YAML::DeepRecursion&) {
    return Fail(Error{.code = ErrorCode::kLimit, .input = name, .message = "nested too deep"});
  } catch (const YAML::Exception& error) {
    return Fail(ErrorAt(name, {error.mark, ErrorCode::kMalformed, "not YAML: " + error.msg, {}}));
  }
}

Result<std::string> ReadTreeText(const std::string& path, const TreeWords& words) {
  auto source = path == "-" ? MakeFdSource(0, false) : nullptr;
  if (source == nullptr) {
    auto opened = OpenFile(path);
    if (!opened) {
      opened.error().input = path;
      return Fail(std::move(opened.error()));
    }
    source = *std::move(opened);
  }
  std::string text(kMaxByteCount + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    auto got = source->Read(std::as_writable_bytes(std::span(text).subspan(size)));
    MEMTOOL_TRY(got);
    if (*got == 0) {
      break;
    }
    size += *got;
  }
  if (size > kMaxByteCount) {
    return Fail(Error{.code = ErrorCode::kLimit,
                      .input = path,
                      .message = fmt::format("a {} of more than 1 MiB", words.noun),
                      .hint = "is this the profile? give that as FILE"});
  }
  text.resize(size);
  return text;
}

}  // namespace memtool::formats
