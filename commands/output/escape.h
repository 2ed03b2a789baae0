// One escaper per sink. Names from inputs are bytes and hostile: nothing from an input reaches a
// terminal, a file or a browser but through one of these.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memtool::commands {

// For terminals and plain text: control characters, bidirectional marks and bytes that are not
// UTF-8 become visible escapes (\n, \x1b, \u202e); the rest stays.
std::string EscapeText(std::string_view bytes);
// Valid UTF-8: every byte that is not becomes U+FFFD. For JSON and HTML.
std::string ToUtf8(std::string_view bytes);
// Serialised JSON with what EscapeText makes visible as \uXXXX: the same values, safe to look at.
std::string EscapeJson(std::string_view json);
// One CSV cell (RFC 4180), text made visible: it may be shown on a terminal. Text that a
// spreadsheet would run as a formula gets a leading "'".
std::string EscapeCsv(std::string_view bytes);
// One cell of a markdown table.
std::string EscapeMarkdown(std::string_view bytes);
// The inside of a DOT "escString": text made visible, backslashes doubled. Quoting is cgraph's job.
std::string EscapeDot(std::string_view bytes);
// One frame of a folded stack: no ";" and no line break.
std::string EscapeFolded(std::string_view bytes);

// Width in terminal cells of text that went through EscapeText.
std::size_t DisplayWidth(std::string_view text);
// Cuts text that went through EscapeText to `width` cells, with "…" in place of the middle.
std::string Shorten(std::string_view text, std::size_t width);

}  // namespace memtool::commands
