#include "memtool/profile/base/abridge.h"

namespace memtool {

std::string Abridge(std::string_view text, std::size_t most) {
  if (text.size() <= most) {
    return std::string(text);
  }
  const auto continues = [text](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::size_t head = most / 2;
  std::size_t tail = text.size() - most / 2;
  for (int i = 0; i < 3 && continues(head); ++i) {
    --head;
  }
  for (int i = 0; i < 3 && tail + 1 < text.size() && continues(tail); ++i) {
    ++tail;
  }
  return std::string(text.substr(0, head)) + "…" + std::string(text.substr(tail));
}

}  // namespace memtool
