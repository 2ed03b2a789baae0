// Text without the C library's locale or allocation.
#pragma once

#include <cstddef>

namespace memtool::capture {

// The length of `text`, at most `most`; 0 for nullptr.
std::size_t CutLength(const char* text, std::size_t most);
// Cut to fit and ended by NUL.
void CopyText(char* to, std::size_t size, const char* text);

// Loops of our own: dlsym is called before a sanitizer's replacements of strcmp and the like work.
bool StartsWith(const char* text, const char* prefix);
bool Equal(const char* a, const char* b);
const char* BaseName(const char* path);

// Decimal digits without a NUL; how many.
inline constexpr std::size_t kMaxDigits = 20;
std::size_t PutDigits(char* to, unsigned long value);

// One line on stderr about what the user has to know: a setting that is wrong, a log that cannot be
// made. Nothing else is ever printed. Bytes of `detail` that are not plain become "\x1b".
void Warn(const char* message, const char* detail);

}  // namespace memtool::capture
