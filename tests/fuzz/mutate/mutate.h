// Changes to inputs that know their format, so that most of what they make is still read to its
// end. All work in place: `data` holds `size` bytes and has room for `most`; they return the new
// size, or 0 when the bytes are not of their kind.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memtool::fuzz {

using Random = std::minstd_rand;

// Below `end`, which is not 0.
std::size_t Below(Random& random, std::size_t end);
// A number at which something may change: small, a power of two or next to one, or any.
std::uint64_t OddNumber(Random& random);
// LLVMFuzzerMutate on a text of its own.
std::string AnyChange(std::string text, std::size_t most);
// Back into the fuzzer's buffer, cut where it does not fit.
std::size_t Store(const std::string& bytes, std::uint8_t* data, std::size_t most);

// protobuf's varints. Taking one steps over it; none where the bytes end in it.
std::optional<std::uint64_t> TakeVarint(std::string_view& bytes);
void PutVarint(std::string& out, std::uint64_t value);

// Takes one item out, doubles it, swaps two, or puts one elsewhere.
template <class Item>
void Rearrange(std::vector<Item>& items, Random& random) {
  if (items.empty()) {
    return;
  }
  const std::size_t from = Below(random, items.size());
  const std::size_t to = Below(random, items.size());
  const auto at = [&items](std::size_t row) {
    return items.begin() + static_cast<std::ptrdiff_t>(row);
  };
  switch (random() % 4) {
    case 0:
      items.erase(at(from));
      break;
    case 1: {
      const Item copy = items[from];
      items.insert(at(to), copy);
      break;
    }
    case 2:
      std::swap(items[from], items[to]);
      break;
    default: {
      Item moved = std::move(items[from]);
      items.erase(at(from));
      items.insert(at(std::min(to, items.size())), std::move(moved));
      break;
    }
  }
}

// Fields of protobuf messages, at any depth.
std::size_t MutateProtobuf(std::uint8_t* data, std::size_t size, std::size_t most, Random& random);
// Opcodes of pickles (protocols 2 to 5).
std::size_t MutatePickle(std::uint8_t* data, std::size_t size, std::size_t most, Random& random);
// Records of capture logs; lengths and checksums are written anew.
std::size_t MutateLog(std::uint8_t* data, std::size_t size, std::size_t most, Random& random);
// Numbers, lines and bracketed parts of text: JSON, CSV, logs.
std::size_t MutateText(std::uint8_t* data, std::size_t size, std::size_t most, Random& random);

}  // namespace memtool::fuzz
