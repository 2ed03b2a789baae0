#include "output/text/visible_text.h"

#include "memtool/profile/base/escape.h"

namespace memtool::commands {

namespace {

constexpr const char* kPlain = "\x1b[0m";

std::string ColorCode(int color) {
  return "\x1b[38;5;" + std::to_string(color) + "m";
}

}  // namespace

VisibleView::VisibleView(const VisibleText& text) : text_(text.str()) {}

std::optional<VisibleView> VisibleView::IfPlain(std::string_view text) {
  return IsPlain(text) ? std::optional(VisibleView(text)) : std::nullopt;
}

std::optional<VisibleView> VisibleView::IfPlainLines(std::string_view text, std::size_t most) {
  VisibleView lines(text);
  const VisibleView whole = lines;
  while (const auto line = lines.TakeLine()) {
    if (line->str().size() > most || !IsPlain(line->str())) {
      return std::nullopt;
    }
  }
  return whole;
}

std::optional<VisibleView> VisibleView::TakeLine() {
  if (taken_) {
    return std::nullopt;
  }
  const std::size_t end = text_.find('\n');
  const VisibleView line(text_.substr(0, end));
  taken_ = end == std::string_view::npos;
  text_.remove_prefix(taken_ ? text_.size() : end + 1);
  return line;
}

VisibleText VisibleText::Lines(std::string_view text) {
  return VisibleText().AppendLines(text);
}

VisibleText& VisibleText::Append(std::string_view text, int color) {
  if (color == kNoColor || text.empty()) {
    AppendEscaped(text_, text);
    return *this;
  }
  text_ += ColorCode(color);
  AppendEscaped(text_, text);
  text_ += kPlain;
  return *this;
}

VisibleText& VisibleText::Append(VisibleView text, int color) {
  const bool colored = color != kNoColor && !text.str().empty();
  if (colored) {
    text_ += ColorCode(color);
  }
  text_ += text.str();
  if (colored) {
    text_ += kPlain;
  }
  return *this;
}

VisibleText& VisibleText::AppendLines(std::string_view text, int color) {
  if (color != kNoColor && !text.empty()) {
    text_ += ColorCode(color);
    AppendLines(text);
    text_ += kPlain;
    return *this;
  }
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    AppendEscaped(text_, text.substr(0, end));
    text_ += '\n';
    text.remove_prefix(end + 1);
  }
  AppendEscaped(text_, text);
  return *this;
}

VisibleText& VisibleText::AppendBold(const VisibleText& text) {
  text_ += "\x1b[1m" + text.text_ + kPlain;
  return *this;
}

VisibleText& VisibleText::AppendLink(VisibleView text, const std::string& url) {
  text_ += "\x1b]8;;" + EscapeText(url) + "\x1b\\";
  text_ += text.str();
  text_ += "\x1b]8;;\x1b\\";
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
