#include "log/word_filter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <queue>
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

// The windows of all words: the equal ones are one, and each knows its words.
struct Windows {
  struct Window {
    std::string_view text;
    std::vector<std::uint32_t> words;
  };
  std::vector<Window> list;                           // by text
  std::vector<std::vector<std::uint32_t>> of_a_word;  // indices into `list`, some perhaps twice
};

Windows MakeWindows(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string_view, std::uint32_t>> all;
  for (std::uint32_t word = 0; word < words.size(); ++word) {
    const std::string_view text = words[word];
    for (std::size_t at = 0; at + WordFilter::kWindow <= text.size(); ++at) {
      all.emplace_back(text.substr(at, WordFilter::kWindow), word);
    }
  }
  std::sort(all.begin(), all.end());
  Windows windows;
  windows.of_a_word.resize(words.size());
  for (const auto& [text, word] : all) {
    if (windows.list.empty() || windows.list.back().text != text) {
      windows.list.push_back({text, {}});
    }
    windows.list.back().words.push_back(word);
    windows.of_a_word[word].push_back(static_cast<std::uint32_t>(windows.list.size() - 1));
  }
  return windows;
}

// Windows that together are in all words, each in many words that no earlier one is in, and in few
// other texts.
std::vector<std::string_view> ChooseWindows(const std::vector<std::string>& words) {
  const Windows windows = MakeWindows(words);
  std::vector<std::size_t> left;                      // in how many words that none chosen is in
  using Candidate = std::pair<double, std::int64_t>;  // the best first, then by text
  std::priority_queue<Candidate> candidates;
  const auto add = [&](std::size_t at) {
    if (left[at] > 0) {
      candidates.emplace(
          static_cast<double>(left[at]) / (Frequency(windows.list[at].text) + kSeldom),
          -static_cast<std::int64_t>(at));
    }
  };
  for (std::size_t at = 0; at < windows.list.size(); ++at) {
    left.push_back(windows.list[at].words.size());
    add(at);
  }
  std::vector<bool> covered(words.size());
  std::vector<std::size_t> pushed = left;  // `left` as the queue knows it
  std::vector<std::string_view> chosen;
  while (!candidates.empty()) {
    const auto at = static_cast<std::size_t>(-candidates.top().second);
    candidates.pop();
    if (left[at] != pushed[at]) {
      pushed[at] = left[at];
      add(at);
      continue;
    }
    chosen.push_back(windows.list[at].text);
    for (const std::uint32_t word : windows.list[at].words) {
      if (!covered[word]) {
        covered[word] = true;
        for (const std::uint32_t other : windows.of_a_word[word]) {
          --left[other];
        }
      }
    }
  }
  return chosen;
}

}  // namespace

WordFilter::WordFilter(std::vector<std::string> words) : words_(std::move(words)) {
  std::vector<std::uint32_t> left(words_.size());
  std::iota(left.begin(), left.end(), 0U);
  for (const std::string_view window : ChooseWindows(words_)) {
    AddPlaces(window, left);
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
