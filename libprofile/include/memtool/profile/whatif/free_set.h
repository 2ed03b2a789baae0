// Free blocks in the allocator's search order: by size, then address. A sorted list in chunks
// rather than a tree, because it is iterated in order and copied often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memtool::whatif {

class FreeSet {
 public:
  struct Entry {
    std::int64_t size = 0;
    std::uint64_t address = 0;
    std::uint32_t row = 0;
    // Rows do not count.
    friend bool operator<(const Entry& a, const Entry& b) { return a.Key() < b.Key(); }

   private:
    __extension__ using Wide = unsigned __int128;
    [[nodiscard]] Wide Key() const {
      return static_cast<Wide>(static_cast<std::uint64_t>(size)) << 64U | address;
    }
  };
  // Where an entry is; valid until the set changes.
  struct Place {
    std::uint32_t piece = 0;
    std::uint32_t at = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };

  void Insert(const Entry& entry);
  // The entry is there.
  void Erase(const Entry& entry);
  void Erase(Place place);

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] Place Begin() const { return {}; }
  [[nodiscard]] bool AtEnd(Place place) const { return place.piece >= pieces_.size(); }
  // The first that is not before (size, address).
  [[nodiscard]] Place LowerBound(std::int64_t size, std::uint64_t address = 0) const;
  [[nodiscard]] const Entry& operator[](Place place) const {
    return pieces_[place.piece][place.at];
  }
  [[nodiscard]] Place Next(Place place) const {
    return place.at + 1 < pieces_[place.piece].size() ? Place{place.piece, place.at + 1}
                                                      : Place{place.piece + 1, 0};
  }
  // `place` is not Begin().
  [[nodiscard]] Place Before(Place place) const {
    return place.at > 0 ? Place{place.piece, place.at - 1}
                        : Place{place.piece - 1,
                                static_cast<std::uint32_t>(pieces_[place.piece - 1].size()) - 1};
  }

 private:
  static constexpr std::size_t kMax = 32;  // entries in a piece
  [[nodiscard]] Place Find(const Entry& entry) const;

  std::vector<std::vector<Entry>> pieces_;  // none is empty
  std::vector<Entry> last_;                 // of each piece
};

}  // namespace memtool::whatif
