#include "session/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "session/prefetch_window.h"

namespace memtool::commands {
namespace {

TEST(ThreadPool, ResultsAreThoseOfTheirWork) {
  ThreadPool pool(3);
  std::vector<std::future<int>> results;
  results.reserve(1000);
  for (int i = 0; i < 1000; ++i) {
    results.push_back(pool.Submit([i] { return i * i; }));
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(pool.Await(std::move(results[static_cast<std::size_t>(i)])), i * i);
  }
}

TEST(ThreadPool, AreNoMoreThanAskedFor) {
  std::set<std::thread::id> seen;
  ThreadPool pool(2);
  for (int i = 0; i < 200; ++i) {
    seen.insert(pool.Submit([] { return std::this_thread::get_id(); }).get());
  }
  EXPECT_EQ(seen.size(), 1U);  // the caller's is the other
  EXPECT_FALSE(seen.contains(std::this_thread::get_id()));
}

TEST(ThreadPool, WhoeverAwaitsAResultDoesWhatNobodyHasBegun) {
  ThreadPool pool(2);
  std::promise<void> begun;
  std::promise<void> go;
  auto first = pool.Submit([&begun, &go] {
    begun.set_value();
    go.get_future().wait();
    return std::this_thread::get_id();
  });
  begun.get_future().wait();
  auto second = pool.Submit([&go] {  // the thread is busy until this has run
    go.set_value();
    return std::this_thread::get_id();
  });
  EXPECT_NE(pool.Await(std::move(first)), std::this_thread::get_id());
  EXPECT_EQ(pool.Await(std::move(second)), std::this_thread::get_id());
}

TEST(ThreadPool, OneIsNone) {
  ThreadPool pool(1);
  EXPECT_EQ(pool.Await(pool.Submit([] { return std::this_thread::get_id(); })),
            std::this_thread::get_id());
}

TEST(ThreadPool, WhatIsThrownIsThrownWhereTheResultIsAskedFor) {
  ThreadPool pool(2);
  auto result = pool.Submit([]() -> int { throw std::runtime_error("no"); });
  EXPECT_THROW(pool.Await(std::move(result)), std::runtime_error);
  EXPECT_EQ(pool.Submit([] { return 7; }).get(), 7);
}

TEST(ThreadPool, TheirEndWaitsForWhatWasBegunAndDropsTheRest) {
  std::atomic<int> done = 0;
  std::promise<void> go;
  std::promise<void> begun;
  std::future<void> dropped;
  {
    ThreadPool pool(2);
    const auto held = [&done, open = go.get_future().share()] {
      open.wait();
      ++done;
    };
    const auto first = pool.Submit([&begun, held] {
      begun.set_value();
      held();
    });
    begun.get_future().wait();
    for (int i = 0; i < 20; ++i) {
      dropped = pool.Submit(held);
    }
    go.set_value();
  }
  const int at_the_end = done;
  EXPECT_GE(at_the_end, 1);
  std::this_thread::yield();
  EXPECT_EQ(done, at_the_end);
  // Either it was done or it never will be: nobody waits for ever.
  EXPECT_EQ(dropped.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

TEST(PrefetchWindow, LargeInputsAreReadAsManyAtATimeAsThereAreWorkers) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 30U;
  PrefetchWindow window(2);
  EXPECT_TRUE(window.Takes(kLarge));
  window.Put(kLarge);
  EXPECT_TRUE(window.Takes(kLarge));
  window.Put(kLarge);
  EXPECT_FALSE(window.Takes(kLarge));
  EXPECT_FALSE(window.Takes(1));
  window.Take();
  EXPECT_TRUE(window.Takes(kLarge));
}

TEST(PrefetchWindow, OfSmallInputsMoreAreRead) {
  const auto taken = [](std::size_t jobs, std::uint64_t size) {
    PrefetchWindow window(jobs);
    std::size_t count = 0;
    for (; count < 1000 && window.Takes(size); ++count) {
      window.Put(size);
    }
    return count;
  };
  EXPECT_EQ(taken(1, 100), 1U);
  EXPECT_EQ(taken(2, 100), 8U);
  EXPECT_EQ(taken(2, 8U << 20U), 4U);
  EXPECT_EQ(taken(2, 0), 2U);  // a stream may be any size
}

}  // namespace
}  // namespace memtool::commands
