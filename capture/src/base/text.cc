#include "base/text.h"

#include <unistd.h>

#include <cstring>
#include <initializer_list>

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
  constexpr char kHex[] = "0123456789abcdef";
  char line[512];
  std::size_t length = 0;
  for (const char* part : {"memtool capture: ", message, detail}) {
    for (; *part != '\0' && length < sizeof line - sizeof "\\x00"; ++part) {
      const auto byte = static_cast<unsigned char>(*part);
      if (byte >= ' ' && byte < 0x7f) {
        line[length++] = *part;
        continue;
      }
      for (const char shown : {'\\', 'x', kHex[byte / 16], kHex[byte % 16]}) {
        line[length++] = shown;
      }
    }
  }
  line[length++] = '\n';
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, length);
}

}  // namespace memtool::capture
