#include "output/text/visible_text.h"

#include "memtool/profile/base/escape.h"

namespace memtool::commands {

namespace {

constexpr const char* kPlain = "\x1b[0m";

std::string ColorCode(int color) {
  return "\x1b[38;5;" + std::to_string(color) + "m";
}

}  // namespace

VisibleText VisibleText::Lines(std::string_view text) {
  return VisibleText().AppendLines(text);
}

VisibleText& VisibleText::Append(std::string_view text, int color) {
  const bool colored = color != kNoColor && !text.empty();
  text_ += colored ? ColorCode(color) : "";
  AppendEscaped(text_, text);
  text_ += colored ? kPlain : "";
  return *this;
}

VisibleText& VisibleText::Append(const VisibleText& text) {
  text_ += text.text_;
  return *this;
}

VisibleText& VisibleText::AppendLines(std::string_view text, int color) {
  const bool colored = color != kNoColor && !text.empty();
  text_ += colored ? ColorCode(color) : "";
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    AppendEscaped(text_, text.substr(0, end));
    text_ += '\n';
    text.remove_prefix(end + 1);
  }
  AppendEscaped(text_, text);
  text_ += colored ? kPlain : "";
  return *this;
}

VisibleText& VisibleText::AppendBold(const VisibleText& text) {
  text_ += "\x1b[1m" + text.text_ + kPlain;
  return *this;
}

VisibleText& VisibleText::AppendBlanks(std::size_t count) {
  text_.append(count, ' ');
  return *this;
}

VisibleText& VisibleText::TrimEnd() {
  text_.erase(text_.find_last_not_of(' ') + 1);
  return *this;
}

VisibleText& VisibleText::EndLine() {
  text_ += '\n';
  return *this;
}

VisibleText& VisibleText::EraseLine() {
  text_ += "\r\x1b[K";
  return *this;
}

}  // namespace memtool::commands
