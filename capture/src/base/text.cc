#include "base/text.h"

#include <unistd.h>

#include <cstring>

namespace memtool::capture {

std::size_t CutLength(const char* text, std::size_t most) {
  return text == nullptr ? 0 : strnlen(text, most);
}

void CopyText(char* to, std::size_t size, const char* text) {
  const std::size_t length = CutLength(text, size - 1);
  memcpy(to, text == nullptr ? "" : text, length);
  to[length] = '\0';
}

bool StartsWith(const char* text, const char* prefix) {
  for (; *prefix != '\0'; ++text, ++prefix) {
    if (*text != *prefix) {
      return false;
    }
  }
  return true;
}

bool Equal(const char* a, const char* b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') {
      return true;
    }
  }
  return false;
}

const char* BaseName(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    name = *path == '/' ? path + 1 : name;
  }
  return name;
}

std::size_t PutDigits(char* to, unsigned long value) {
  std::size_t count = 1;
  for (unsigned long rest = value / 10; rest > 0; rest /= 10) {
    ++count;
  }
  for (std::size_t at = count; at-- > 0; value /= 10) {
    to[at] = static_cast<char>('0' + value % 10);
  }
  return count;
}

void Warn(const char* message, const char* detail) {
  char line[512];
  std::size_t length = 0;
  const char* const parts[] = {"memtool capture: ", message, detail, "\n"};
  for (const char* part : parts) {
    const std::size_t size = CutLength(part, sizeof line - 1 - length);
    memcpy(line + length, part == nullptr ? "" : part, size);
    length += size;
  }
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, length);
}

}  // namespace memtool::capture
