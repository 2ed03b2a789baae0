#include "memtool/profile/whatif/free_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace memtool::whatif {
namespace {

// Against std::set, through many sizes.
TEST(FreeSet, KeepsOrderWhateverComesAndGoes) {
  std::mt19937 random(5);
  FreeSet set;
  std::set<FreeSet::Entry> expected;
  for (int round = 0; round < 20000; ++round) {
    const FreeSet::Entry entry{static_cast<std::int64_t>(random() % 50), random() % 40, 7};
    if (expected.contains(entry)) {
      expected.erase(entry);
      set.Erase(entry);
    } else if (random() % 8 < (round < 12000 ? 7U : 3U)) {
      expected.insert(entry);
      set.Insert(entry);
    }
    if (round % 97 == 0) {
      auto at = set.Begin();
      for (const FreeSet::Entry& one : expected) {
        ASSERT_FALSE(set.AtEnd(at));
        ASSERT_EQ(set[at].size, one.size);
        ASSERT_EQ(set[at].address, one.address);
        at = set.Next(at);
      }
      ASSERT_TRUE(set.AtEnd(at));
      const std::int64_t size = random() % 50;
      const auto lower = expected.lower_bound({size, 0, 0});
      const auto place = set.LowerBound(size);
      ASSERT_EQ(set.AtEnd(place), lower == expected.end());
      if (lower != expected.end()) {
        ASSERT_EQ(set[place].size, lower->size);
        ASSERT_EQ(set[place].address, lower->address);
        if (lower != expected.begin()) {
          ASSERT_EQ(set[set.Before(place)].address, std::prev(lower)->address);
        }
      }
    }
  }
}

}  // namespace
}  // namespace memtool::whatif
