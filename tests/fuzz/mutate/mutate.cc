#include "mutate/mutate.h"

#include <algorithm>
#include <cstring>

// Given by libFuzzer.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace memtool::fuzz {

std::size_t Below(Random& random, std::size_t end) {
  return static_cast<std::size_t>(random()) % end;
}

std::uint64_t OddNumber(Random& random) {
  const auto bit = static_cast<unsigned>(random() % 64);
  const std::uint64_t power = std::uint64_t{1} << bit;
  switch (random() % 5) {
    case 0:
      return random() % 16;
    case 1:
      return power;
    case 2:
      return power - 1;
    case 3:
      return ~std::uint64_t{0} - random() % 3;
    default:
      return (static_cast<std::uint64_t>(random()) << 32U | random()) >> bit;
  }
}

std::string AnyChange(std::string text, std::size_t most) {
  const std::size_t size = text.size();
  text.resize(std::max(size + 16, std::min(most, size * 2)));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): text as libFuzzer takes it.
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

std::size_t Store(const std::string& bytes, std::uint8_t* data, std::size_t most) {
  const std::size_t size = std::min(bytes.size(), most);
  std::memcpy(data, bytes.data(), size);
  return size;
}

std::optional<std::uint64_t> TakeVarint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) {
    out += static_cast<char>(value | 0x80U);
  }
  out += static_cast<char>(value);
}

}  // namespace memtool::fuzz

// Chosen by the first bytes, as the program does; one change in three is libFuzzer's own, which
// knows no format.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  using namespace memtool::fuzz;
  Random random(seed);
  random.discard(2);
  std::size_t changed = 0;
  constexpr std::uint8_t kContainer = 0x89;  // its target mends checksums: any change will do
  if (size > 2 && data[0] != kContainer && random() % 3 != 0) {
    if (std::memcmp(data, "MT", 2) == 0) {
      changed = MutateLog(data, size, most, random);
    } else if (data[0] == 0x80) {
      changed = MutatePickle(data, size, most, random);
    } else if (data[0] < 0x20) {
      changed = MutateProtobuf(data, size, most, random);
    } else {
      changed = MutateText(data, size, most, random);
    }
  }
  return changed > 0 ? changed : LLVMFuzzerMutate(data, size, most);
}
