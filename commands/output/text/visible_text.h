// Text that can be shown: whatever was appended to it, what is not visible in it was escaped. Sinks
// take no other text, so what an input named cannot reach a terminal as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "output/text/colors.h"

namespace memtool::commands {

class VisibleText {
 public:
  VisibleText() = default;
  explicit VisibleText(std::string_view text) { Append(text); }
  static VisibleText Lines(std::string_view text);

  // As EscapeText makes it; what went through that already stays as it is.
  VisibleText& Append(std::string_view text, int color = kNoColor);
  VisibleText& Append(const VisibleText& text);
  // Line breaks stay.
  VisibleText& AppendLines(std::string_view text, int color = kNoColor);
  VisibleText& AppendBold(const VisibleText& text);
  VisibleText& AppendBlanks(std::size_t count);
  // Takes off the blanks at the end.
  VisibleText& TrimEnd();
  VisibleText& EndLine();
  // Back to the begin of a terminal's line, which is emptied.
  VisibleText& EraseLine();

  void clear() { text_.clear(); }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] const std::string& str() const { return text_; }
  friend bool operator==(const VisibleText&, const VisibleText&) = default;

 private:
  std::string text_;
};

}  // namespace memtool::commands
