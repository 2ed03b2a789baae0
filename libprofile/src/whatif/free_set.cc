#include "memtool/profile/whatif/free_set.h"

#include <algorithm>

namespace memtool::whatif {

FreeSet::Place FreeSet::Find(const Entry& entry) const {
  const auto piece = std::lower_bound(last_.begin(), last_.end(), entry);
  if (piece == last_.end()) {
    return {static_cast<std::uint32_t>(pieces_.size()), 0};
  }
  const auto row = static_cast<std::uint32_t>(piece - last_.begin());
  const auto& entries = pieces_[row];
  return {row, static_cast<std::uint32_t>(std::lower_bound(entries.begin(), entries.end(), entry) -
                                          entries.begin())};
}

FreeSet::Place FreeSet::LowerBound(std::int64_t size, std::uint64_t address) const {
  return Find({size, address, 0});
}

void FreeSet::Insert(const Entry& entry) {
  if (pieces_.empty()) {
    pieces_.emplace_back().reserve(kMost);
    pieces_.back().push_back(entry);
    last_.push_back(entry);
    return;
  }
  Place place = Find(entry);
  if (AtEnd(place)) {
    place = {static_cast<std::uint32_t>(pieces_.size()) - 1,
             static_cast<std::uint32_t>(pieces_.back().size())};
  }
  auto& entries = pieces_[place.piece];
  entries.insert(entries.begin() + place.at, entry);
  last_[place.piece] = entries.back();
  if (entries.size() < kMost) {
    return;
  }
  const auto middle = entries.begin() + kMost / 2;
  std::vector<Entry> upper;
  upper.reserve(kMost);
  upper.assign(middle, entries.end());
  entries.erase(middle, entries.end());
  last_[place.piece] = entries.back();
  const auto after = static_cast<std::ptrdiff_t>(place.piece) + 1;
  last_.insert(last_.begin() + after, upper.back());
  pieces_.insert(pieces_.begin() + after, std::move(upper));
}

void FreeSet::Erase(const Entry& entry) {
  const Place place = Find(entry);
  auto& entries = pieces_[place.piece];
  entries.erase(entries.begin() + place.at);
  if (entries.empty()) {
    pieces_.erase(pieces_.begin() + place.piece);
    last_.erase(last_.begin() + place.piece);
  } else {
    last_[place.piece] = entries.back();
  }
}

}  // namespace memtool::whatif
