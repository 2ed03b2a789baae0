#include "damage.h"

#include <algorithm>
#include <utility>

namespace memtool::flips {

namespace {

void Exchange(std::string& bytes, std::mt19937_64& random) {
  constexpr std::size_t kMaxByteCount = 16;
  std::size_t first = random() % bytes.size();
  std::size_t second = random() % bytes.size();
  if (first > second) {
    std::swap(first, second);
  }
  const std::size_t room = std::min(second - first, bytes.size() - second);
  const std::size_t length = std::min<std::size_t>(1 + random() % kMaxByteCount, room);
  const auto at = [&bytes](std::size_t place) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(place);
  };
  std::swap_ranges(at(first), at(first + length), at(second));
}

}  // namespace

std::string Flipped(std::string bytes, std::mt19937_64& random) {
  for (auto changes = 1 + random() % 3; changes > 0 && !bytes.empty(); --changes) {
    char& byte = bytes[random() % bytes.size()];
    switch (random() % 3) {
      case 0:
        byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << random() % 8));
        break;
      case 1:
        byte = static_cast<char>(random());
        break;
      default:
        Exchange(bytes, random);
        break;
    }
  }
  return bytes;
}

std::size_t CutDistance(std::size_t size, std::size_t most) {
  return most == 0 ? size : std::max<std::size_t>(1, (size + most - 1) / most);
}

}  // namespace memtool::flips
