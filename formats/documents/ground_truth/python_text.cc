// What Python prints of a dict: {'a': 1}, OrderedDict([('a', 1)]), OrderedDict({'a': 1}); None,
// True, nan. People paste what they printed, so this becomes JSON, byte for byte where it already
// is.
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "documents/ground_truth/forms.h"

namespace memtool::formats::device_report {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords{
    {{"None", "null"},
     {"True", "true"},
     {"False", "false"},
     {"nan", "NaN"},
     {"inf", "Inf"},
     {"OrderedDict", ""}}};

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Writer {
 public:
  explicit Writer(std::string_view text) : text_(text) {}

  std::string Run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        AddString(c);
      } else if (IsLetter(c)) {
        AddWord();
      } else {
        AddMark(c);
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  void AddString(char quote) {
    out_ += '"';
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        const char next = text_[++at_];
        out_ += next == '\'' ? "'" : std::string{'\\', next};
      } else {
        out_ += text_[at_] == '"' ? "\\\"" : std::string(1, text_[at_]);
      }
    }
    out_ += '"';
    ++at_;
  }

  void AddWord() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && IsLetter(text_[at_])) {
      ++at_;
    }
    std::string_view word = text_.substr(begin, at_ - begin);
    for (const auto& [python, json] : kWords) {
      if (word == python) {
        word = json;
        break;
      }
    }
    out_ += word;
  }

  void AddMark(char c) {
    if (c == '[' || c == '{' || c == '(') {
      Open(c);
    } else if (c == ']' || c == '}' || c == ')') {
      Close();
    } else {
      out_ += c == ',' && in_pair_ ? ':' : c;
      in_pair_ = in_pair_ && c != ',';
    }
  }

  // A list of pairs is an object, and a pair's comma a colon; other parentheses are nothing.
  void Open(char c) {
    const bool of_pairs = c == '[' && text_.substr(at_ + 1, 1) == "(";
    in_pair_ = c == '(' && !open_.empty() && open_.back() == '}';
    const char made = of_pairs ? '{' : c;
    open_.push_back(made == '{' ? '}' : made == '[' ? ']' : ' ');
    if (made != '(') {
      out_ += made;
    }
  }

  void Close() {
    if (open_.empty()) {
      return;
    }
    if (open_.back() != ' ') {
      out_ += open_.back();
    }
    open_.pop_back();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  std::vector<char> open_;  // what each open bracket is closed with, ' ' = nothing
  bool in_pair_ = false;    // before the comma of a pair
};

}  // namespace

bool LooksLikePython(std::string_view text) {
  return text.starts_with("OrderedDict(") || text.starts_with("{'") || text.starts_with("[{'");
}

std::string JsonOfPython(std::string_view text) {
  return Writer(text).Run();
}

}  // namespace memtool::formats::device_report
