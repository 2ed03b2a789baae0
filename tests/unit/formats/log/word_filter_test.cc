#include "log/word_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace memtool::formats::log {
namespace {

// The oracle: the first place at which any word begins.
std::size_t Slow(const std::vector<std::string>& words, std::string_view text, std::size_t from) {
  std::size_t first = std::string_view::npos;
  for (const std::string& word : words) {
    if (word.size() >= WordFilter::kWindow) {
      first = std::min(first, text.find(word, from));
    }
  }
  return first;
}

TEST(WordFilter, FindsWhatASlowSearchFinds) {
  const std::vector<std::string> words = {"emory", "MA (x", "ababa", "buffer size", "babab", "xyz"};
  const WordFilter filter(words);
  std::mt19937 random(20261127);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 90, ' ');
    for (char& c : text) {
      c = "abemoryxMA ("[random() % 12];
    }
    if (!text.empty() && random() % 2 == 0) {
      const std::string& word = words[random() % words.size()];
      text.insert(random() % text.size(), word);
    }
    const std::size_t from = text.empty() ? 0 : random() % text.size();
    const std::size_t slow = Slow(words, text, from);
    const std::size_t fast = filter.Find(text, from);
    // A word that begins earlier but is found later may hide behind one that overlaps it.
    ASSERT_EQ(fast == std::string::npos, slow == std::string::npos) << text << " from " << from;
    if (fast != slow) {
      ASSERT_LT(fast, slow + 12) << text << " from " << from;
    }
    std::vector<std::uint32_t> found;
    filter.FindAll(text, found);
    for (std::uint32_t i = 0; i < words.size(); ++i) {
      const bool there = words[i].size() >= WordFilter::kWindow && text.find(words[i]) != text.npos;
      ASSERT_EQ(std::find(found.begin(), found.end(), i) != found.end(), there)
          << words[i] << " in " << text;
    }
  }
}

TEST(WordFilter, WordsAtEitherEnd) {
  const WordFilter filter({"abcde", "vwxyz"});
  EXPECT_EQ(filter.Find("abcde", 0), 0U);
  EXPECT_EQ(filter.Find(std::string(100, '-') + "vwxyz", 0), 100U);
  EXPECT_EQ(filter.Find("abcde", 1), std::string_view::npos);
  EXPECT_EQ(filter.Find("abcd", 0), std::string_view::npos);
  EXPECT_EQ(filter.Find("", 0), std::string_view::npos);
}

}  // namespace
}  // namespace memtool::formats::log
