// Escapes untrusted bytes for output. Escapers of other formats (DOT, markdown) are built on these.
#pragma once

#include <string>
#include <string_view>

namespace memtool {

// True for printable ASCII alone, which nearly all text is: only the escapes of a format itself can
// still have anything to do.
bool IsPlain(std::string_view bytes);
// For terminals and plain text: control characters, bidirectional marks and bytes that are not
// UTF-8 become visible escapes (\n, \x1b, \u202e); the rest stays.
std::string EscapeText(std::string_view bytes);
void AppendEscaped(std::string& out, std::string_view bytes);
// Valid UTF-8: every byte that is not becomes U+FFFD. For JSON and HTML.
std::string ToUtf8(std::string_view bytes);
// Serialised JSON in which what EscapeText makes visible is written as \uXXXX: the same values,
// safe to look at.
std::string EscapeJson(std::string_view json);
// One CSV cell (RFC 4180), with its text made visible, because it may be shown on a terminal. Text
// that a spreadsheet would run as a formula gets a leading "'".
std::string EscapeCsv(std::string_view bytes);

}  // namespace memtool
