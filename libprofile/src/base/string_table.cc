#include "memtool/profile/base/string_table.h"

#include "memtool/profile/base/key_hash.h"

namespace memtool {

namespace {
constexpr std::size_t kFirstSlots = 1024;
}  // namespace

StringTable::StringTable() : offsets_{0}, slots_(kFirstSlots, 0) {
  Intern({});
}

std::size_t StringTable::Slot(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  const auto low = static_cast<std::uint32_t>(hash);
  std::size_t slot = hash & mask;
  while (slots_[slot] != 0) {
    const std::uint32_t id = slots_[slot] - 1;
    if (hashes_[id] == low && (*this)[StringId(id)] == text) {
      break;
    }
    slot = (slot + 1) & mask;
  }
  return slot;
}

void StringTable::Grow() {
  std::vector<std::uint32_t> old(slots_.size() * 2, 0);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 0; id < size(); ++id) {
    const std::string_view text = (*this)[StringId(id)];
    std::size_t slot = HashBytes(text) & mask;
    while (slots_[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    slots_[slot] = id + 1;
  }
}

StringId StringTable::Intern(std::string_view text) {
  const std::uint64_t hash = HashBytes(text);
  std::size_t slot = Slot(text, hash);
  if (slots_[slot] != 0) {
    return StringId(slots_[slot] - 1);
  }
  const auto id = static_cast<std::uint32_t>(size());
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  offsets_.push_back(bytes_.size());
  hashes_.push_back(static_cast<std::uint32_t>(hash));
  slots_[slot] = id + 1;
  if (size() * 2 > slots_.size()) {
    Grow();
  }
  return StringId(id);
}

StringId StringTable::Find(std::string_view text) const {
  const std::size_t slot = Slot(text, HashBytes(text));
  return slots_[slot] == 0 ? StringId() : StringId(slots_[slot] - 1);
}

}  // namespace memtool
