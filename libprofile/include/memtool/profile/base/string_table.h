// Interned byte strings (any encoding, NUL included) with 32-bit ids; id 0 is the empty string.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "memtool/profile/base/ids.h"

namespace memtool {

class StringTable {
 public:
  StringTable();

  // The id of `text`, added when new. Ids are dense and in order of first appearance.
  StringId Intern(std::string_view text);
  // The id of `text`, or none when it was never interned.
  [[nodiscard]] StringId Find(std::string_view text) const;

  [[nodiscard]] std::string_view operator[](StringId id) const {
    const std::uint64_t begin = offsets_[id.value()];
    return {bytes_.data() + begin, static_cast<std::size_t>(offsets_[id.value() + 1] - begin)};
  }
  [[nodiscard]] std::size_t size() const { return offsets_.size() - 1; }

 private:
  [[nodiscard]] std::size_t Slot(std::string_view text, std::uint64_t hash) const;
  void Grow();

  std::vector<char> bytes_;
  std::vector<std::uint64_t> offsets_;  // size() + 1 entries
  std::vector<std::uint32_t> slots_;    // open addressing, id + 1, 0 = free; a power of two
  std::vector<std::uint32_t> hashes_;   // low half of each id's hash: saves most comparisons
};

}  // namespace memtool
