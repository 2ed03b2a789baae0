#include <gtest/gtest.h>

#include <vector>

#include "pprof/profile.h"

namespace memtool::commands::pprof {
namespace {

// More keys than are searched one by one, each twice: values keep their order, keys that of their
// first label, texts and numbers apart.
TEST(GroupLabels, JoinsEqualKeysHoweverManyThereAre) {
  constexpr std::uint32_t kKeys = 50;
  std::vector<Label> labels;
  for (const std::uint32_t turn : {1U, 2U}) {
    for (std::uint32_t key = kKeys; key > 0; --key) {
      labels.push_back({.key = StringId(key), .text = StringId(100 * turn + key)});
      labels.push_back({.key = StringId(key),
                        .number = turn,
                        .unit = StringId(turn == 2 ? 7U : 0U),
                        .numeric = true});
    }
  }
  const LabelSet set = GroupLabels(labels);
  ASSERT_EQ(set.texts.size(), kKeys);
  ASSERT_EQ(set.numbers.size(), kKeys);
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    const std::uint32_t key = kKeys - i;
    EXPECT_EQ(set.texts[i].key, StringId(key));
    EXPECT_EQ(set.texts[i].values, (std::vector{StringId(100 + key), StringId(200 + key)}));
    EXPECT_EQ(set.numbers[i].key, StringId(key));
    EXPECT_EQ(set.numbers[i].values, (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(set.numbers[i].units, (std::vector{StringId(0U), StringId(7U)}));
  }
}

}  // namespace
}  // namespace memtool::commands::pprof
