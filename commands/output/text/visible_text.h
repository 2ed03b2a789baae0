// Text that can be shown: whatever was appended to it, what is not visible in it was escaped. Sinks
// take no other text, so what an input named cannot reach a terminal as it is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "output/text/palette.h"

namespace memtool::commands {

class VisibleText;

// A part of such a text, or one that needs no escapes; it is another's.
class VisibleView {
 public:
  VisibleView() = default;
  VisibleView(const VisibleText& text);  // NOLINT
  // Words of this program.
  static consteval VisibleView Own(const char* text) { return VisibleView(std::string_view(text)); }
  // None where an escape, or a look at more than ASCII, is needed.
  static std::optional<VisibleView> IfPlain(std::string_view text);
  // The same for lines of at most `most` bytes.
  static std::optional<VisibleView> IfPlainLines(std::string_view text, std::size_t most);

  [[nodiscard]] std::string_view str() const { return text_; }
  // The first line; what is behind its break stays, or nothing.
  std::optional<VisibleView> TakeLine();

 private:
  explicit constexpr VisibleView(std::string_view text) : text_(text) {}

  std::string_view text_;
  bool taken_ = false;  // the last line
};

class VisibleText {
 public:
  VisibleText() = default;
  explicit VisibleText(std::string_view text) { Append(text); }
  static VisibleText Lines(std::string_view text);

  // As EscapeText makes it; what went through that already stays as it is. `color`: of a Palette.
  VisibleText& Append(std::string_view text, int color = kNoColor);
  VisibleText& Append(VisibleView text, int color = kNoColor);
  // Line breaks stay.
  VisibleText& AppendLines(std::string_view text, int color = kNoColor);
  VisibleText& AppendBold(const VisibleText& text);
  // A terminal that knows links (OSC 8) opens `url`, whose bytes are visible ASCII.
  VisibleText& AppendLink(VisibleView text, const std::string& url);
  VisibleText& AppendBlanks(std::size_t count);
  // Takes off the blanks at the end.
  VisibleText& TrimEnd();
  VisibleText& EndLine();
  // Back to the begin of a terminal's line, which is emptied.
  VisibleText& EraseLine();

  void clear() { text_.clear(); }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] const std::string& str() const { return text_; }
  // visible_numbers.h
  template <class Format, class... Numbers>
  friend void AppendNumbers(VisibleText& text, const Format& format, Numbers... numbers);
  friend bool operator==(const VisibleText&, const VisibleText&) = default;

 private:
  std::string text_;
};

}  // namespace memtool::commands
