#include "memtool/profile/whatif/free_set.h"

#include <algorithm>

namespace memtool::whatif {

namespace {

// How many of the sorted entries come before one. Without branches: which way the search goes
// cannot be guessed, and compilers make a branch of ?:.
std::size_t CountBefore(const std::vector<FreeSet::Entry>& entries, const FreeSet::Entry& entry) {
  constexpr std::size_t kFew = 16;  // are counted sooner than each half is waited for
  const FreeSet::Entry* from = entries.data();
  std::size_t count = entries.size();
  while (count > kFew) {
    const std::size_t half = count / 2;
    const std::size_t before = from[half - 1] < entry ? 1 : 0;
    from += half & (0 - before);
    count -= half;
  }
  auto before = static_cast<std::size_t>(from - entries.data());
  for (std::size_t i = 0; i < count; ++i) {
    before += from[i] < entry ? 1 : 0;
  }
  return before;
}

}  // namespace

FreeSet::Place FreeSet::Find(const Entry& entry) const {
  const auto piece = static_cast<std::uint32_t>(CountBefore(last_, entry));
  if (piece == pieces_.size()) {
    return {piece, 0};
  }
  return {piece, static_cast<std::uint32_t>(CountBefore(pieces_[piece], entry))};
}

FreeSet::Place FreeSet::LowerBound(std::int64_t size, std::uint64_t address) const {
  return Find({size, address, 0});
}

void FreeSet::Insert(const Entry& entry) {
  if (pieces_.empty()) {
    pieces_.emplace_back().reserve(kMax);
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
  if (entries.size() < kMax) {
    return;
  }
  const auto middle = entries.begin() + kMax / 2;
  std::vector<Entry> upper;
  upper.reserve(kMax);
  upper.assign(middle, entries.end());
  entries.erase(middle, entries.end());
  last_[place.piece] = entries.back();
  const auto after = static_cast<std::ptrdiff_t>(place.piece) + 1;
  last_.insert(last_.begin() + after, upper.back());
  pieces_.insert(pieces_.begin() + after, std::move(upper));
}

void FreeSet::Erase(const Entry& entry) {
  Place place = Find(entry);
  while ((*this)[place].row != entry.row) {  // two of one address: only in damaged recordings
    place = Next(place);
  }
  Erase(place);
}

void FreeSet::Erase(Place place) {
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
