// Finds many words in text, faster than an automaton that waits for each byte: four bytes at every
// other place are looked up in a table of bits, which a processor does for many places at once.
// Which bytes of a word are looked up is chosen so that many words share them and few other texts
// have them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memtool::formats::log {

class WordFilter {
 public:
  // A word is found by this many of its bytes; shorter ones are left out.
  static constexpr std::size_t kWindow = 5;

  explicit WordFilter(std::vector<std::string> words);

  // Where a word at or after `from` begins, such that no other ends before it begins; npos = there
  // is none.
  [[nodiscard]] std::size_t Find(std::string_view text, std::size_t from) const;
  // The indices of all words that are in `text`, in no order, some perhaps twice.
  void FindAll(std::string_view text, std::vector<std::uint32_t>& found) const;

 private:
  static constexpr unsigned kBits = 16;
  struct Place {
    std::uint32_t hash = 0;  // of four bytes
    std::uint32_t word = 0;  // in which they stand
    std::size_t offset = 0;  // at this place
  };
  static std::uint32_t HashAt(const char* bytes);
  [[nodiscard]] bool MayHold(std::uint32_t hash) const {
    return (bits_[hash >> 6U] >> (hash & 63U) & 1U) != 0;
  }
  void AddPlaces(std::string_view window, std::vector<std::uint32_t>& left);
  // Calls `take(word, begin)` for each word that has its bytes at `at`; true when it returned true.
  template <class Take>
  bool WordsAt(std::string_view text, std::size_t at, std::size_t from, const Take& take) const;
  template <class Take>
  void Search(std::string_view text, std::size_t from, const Take& take) const;

  std::vector<std::string> words_;
  std::vector<Place> places_;  // by hash
  std::array<std::uint64_t, (1U << kBits) / 64> bits_{};
};

}  // namespace memtool::formats::log
