#include "memtool/profile/base/on_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace memtool {
namespace {

TEST(OnThreads, DoesEveryJobOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
    std::vector<std::atomic<int>> done(count);
    OnThreads(count, [&done](std::size_t job) { ++done[job]; });
    for (const auto& times : done) {
      EXPECT_EQ(times, 1);
    }
  }
}

TEST(OnThreads, ThrowsWhatAJobThrew) {
  std::atomic<int> done = 0;
  EXPECT_THROW(OnThreads(20,
                         [&done](std::size_t job) {
                           ++done;
                           if (job == 3) {
                             throw std::runtime_error("3");
                           }
                         }),
               std::runtime_error);
  EXPECT_EQ(done, 20);
}

TEST(SplitForThreads, AreAllRowsInOrder) {
  for (const std::size_t count : {0U, 1U, 99U, 100U, 1001U, 100'000U}) {
    std::size_t next = 0;
    const auto parts = SplitForThreads(count, 100);
    for (const RowRange& part : parts) {
      EXPECT_EQ(part.begin, next);
      EXPECT_TRUE(parts.size() == 1 || part.end - part.begin >= 100);
      next = part.end;
    }
    EXPECT_EQ(next, count);
  }
}

}  // namespace
}  // namespace memtool
