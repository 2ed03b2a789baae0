#include "log/word_filter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace memtool::formats::log {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kBytes = 4;  // that are looked up
constexpr double kSeldom = 1e-6;   // a frequency below which no choice is better

// How often logs have a byte, roughly.
double Frequency(char c) {
  constexpr std::string_view kCommon = "etaoinsrlhdcumpfgbwy";
  const std::size_t rank = kCommon.find(c);
  constexpr double kRare = 0.003;
  return c == ' '                         ? 0.15
         : rank == std::string_view::npos ? kRare
                                          : 0.1 / static_cast<double>(rank + 1);
}

double Frequency(std::string_view window) {
  double product = 1;
  for (const char c : window) {
    product *= Frequency(c);
  }
  return product;
}

}  // namespace

std::uint32_t WordFilter::HashAt(const char* bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  constexpr std::uint32_t kFactor = 2'654'435'769U;  // 2^32 / the golden ratio
  return (value * kFactor) >> (32U - kBits);
}

namespace {

using Windows = std::vector<std::pair<std::string_view, std::uint32_t>>;  // of which word

// One that many words share which are not covered yet, and that few other texts have; empty when
// all are covered. Equal windows stand together.
std::string_view BestWindow(const Windows& windows, const std::vector<bool>& covered) {
  std::string_view best;
  double best_score = 0;
  for (std::size_t at = 0; at < windows.size();) {
    const std::string_view window = windows[at].first;
    double words = 0;
    for (; at < windows.size() && windows[at].first == window; ++at) {
      words += covered[windows[at].second] ? 0 : 1;
    }
    const double score = words / (Frequency(window) + kSeldom);
    if (score > best_score) {
      best_score = score;
      best = window;
    }
  }
  return best;
}

}  // namespace

WordFilter::WordFilter(std::vector<std::string> words) : words_(std::move(words)) {
  Windows windows;
  std::vector<std::uint32_t> left;
  for (std::uint32_t word = 0; word < words_.size(); ++word) {
    const std::string_view text = words_[word];
    for (std::size_t at = 0; at + kWindow <= text.size(); ++at) {
      windows.emplace_back(text.substr(at, kWindow), word);
    }
    left.push_back(word);
  }
  std::sort(windows.begin(), windows.end());
  std::vector<bool> covered(words_.size());
  for (auto best = BestWindow(windows, covered); !best.empty();
       best = BestWindow(windows, covered)) {
    AddPlaces(best, left);
    for (const auto& [window, word] : windows) {
      covered[word] = covered[word] || window == best;
    }
  }
  std::sort(places_.begin(), places_.end(),
            [](const Place& a, const Place& b) { return a.hash < b.hash; });
}

// The words in which `window` is are found by it, and no longer left.
void WordFilter::AddPlaces(std::string_view window, std::vector<std::uint32_t>& left) {
  std::erase_if(left, [&](std::uint32_t word) {
    const std::size_t at = words_[word].find(window);
    if (at == std::string::npos) {
      return false;
    }
    // Whichever of two neighbouring places is looked at. A window is one byte longer than they are.
    for (const std::size_t offset : {at, at + 1}) {
      const std::uint32_t hash = HashAt(words_[word].data() + offset);
      places_.push_back({hash, word, offset});
      bits_[hash >> 6U] |= std::uint64_t{1} << (hash & 63U);
    }
    return true;
  });
}

template <class Take>
bool WordFilter::WordsAt(std::string_view text, std::size_t at, std::size_t from,
                         const Take& take) const {
  const std::uint32_t hash = HashAt(text.data() + at);
  auto place = std::lower_bound(places_.begin(), places_.end(), hash,
                                [](const Place& a, std::uint32_t b) { return a.hash < b; });
  for (; place != places_.end() && place->hash == hash; ++place) {
    const std::string& word = words_[place->word];
    if (place->offset <= at - from && text.compare(at - place->offset, word.size(), word) == 0 &&
        take(place->word, at - place->offset)) {
      return true;
    }
  }
  return false;
}

template <class Take>
void WordFilter::Search(std::string_view text, std::size_t from, const Take& take) const {
  constexpr std::size_t kAtOnce = 16;  // places, two bytes apart
  const char* const data = text.data();
  std::size_t at = from;
  for (; at + 2 * kAtOnce + kBytes <= text.size(); at += 2 * kAtOnce) {
    bool any = false;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      any |= MayHold(HashAt(data + at + 2 * i));
    }
    for (std::size_t i = 0; any && i < kAtOnce; ++i) {
      if (MayHold(HashAt(data + at + 2 * i)) && WordsAt(text, at + 2 * i, from, take)) {
        return;
      }
    }
  }
  for (; at + kBytes <= text.size(); ++at) {
    if (MayHold(HashAt(data + at)) && WordsAt(text, at, from, take)) {
      return;
    }
  }
}

std::size_t WordFilter::Find(std::string_view text, std::size_t from) const {
  std::size_t found = std::string_view::npos;
  Search(text, from, [&found](std::uint32_t /*word*/, std::size_t begin) {
    found = begin;
    return true;
  });
  return found;
}

void WordFilter::FindAll(std::string_view text, std::vector<std::uint32_t>& found) const {
  found.clear();
  Search(text, 0, [&found](std::uint32_t word, std::size_t /*begin*/) {
    found.push_back(word);
    return false;
  });
}

}  // namespace memtool::formats::log
