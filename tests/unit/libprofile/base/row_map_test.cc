// std::unordered_map is the oracle.
#include "memtool/profile/base/row_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <unordered_map>

namespace memtool {
namespace {

TEST(RowMap, DoesAsAnUnorderedMapDoes) {
  std::mt19937_64 random(3);  // NOLINT(cert-msc51-cpp): the same every time
  RowMap map;
  std::unordered_map<std::uint64_t, std::uint32_t> oracle;
  for (std::uint32_t step = 0; step < 300'000; ++step) {
    const std::uint64_t key = random() % 5000 << (random() % 3 * 20);
    const auto known = oracle.find(key);
    const std::uint32_t before = known == oracle.end() ? RowMap::kNone : known->second;
    switch (random() % 4) {
      case 0:
        ASSERT_EQ(map.Put(key, step), before);
        oracle[key] = step;
        break;
      case 1:
        ASSERT_EQ(map.GetOrPut(key, step), before == RowMap::kNone ? step : before);
        oracle.try_emplace(key, step);
        break;
      case 2:
        ASSERT_EQ(map.Take(key), before);
        oracle.erase(key);
        break;
      default:
        ASSERT_EQ(map.Get(key), before);
    }
    ASSERT_EQ(map.size(), oracle.size());
  }
}

// With a factor that is known, a file could choose keys whose products are 0, 1, 2, ...: they would
// share one place, and this would take an hour.
TEST(RowMap, NoKeysAreWorseThanOthers) {
  constexpr std::uint64_t kInverse = 0xf1de83e19937733dULL;  // of 0x9e3779b97f4a7c15
  static_assert(kInverse * 0x9e3779b97f4a7c15ULL == 1);
  constexpr std::uint32_t kKeys = 2'000'000;
  RowMap map;
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    map.Put(i * kInverse, i);
  }
  EXPECT_EQ(map.size(), kKeys);
  EXPECT_EQ(map.Get(77 * kInverse), 77U);
}

}  // namespace
}  // namespace memtool
