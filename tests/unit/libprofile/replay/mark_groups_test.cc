#include "memtool/profile/replay/mark_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memtool {
namespace {

std::vector<Mark> Named(const std::vector<std::string>& names) {
  std::vector<Mark> marks;
  for (const std::string& name : names) {
    marks.push_back({.name = name});
  }
  return marks;
}

TEST(MarkGroups, NumbersOfOneNameAreARange) {
  EXPECT_EQ(MarkNames(Named({"ProfilerStep#4", "forward", "ProfilerStep#3", "forward", "load"})),
            "ProfilerStep#3 to #4, forward (2 times), load");
  EXPECT_EQ(MarkNames(Named({"epoch#3"})), "epoch#3");
  // A name that only looks numbered, and a plain one next to numbered ones.
  EXPECT_EQ(MarkNames(Named({"#1", "c#", "step", "step#1"})), "#1, c#, step, step#1");
}

TEST(MarkGroups, ManyAreCounted) {
  std::vector<std::string> names;
  for (char c = 'a'; c <= 'k'; ++c) {
    names.emplace_back(1, c);
  }
  EXPECT_EQ(MarkNames(Named(names)), "a, b, c, d, e, f, g, h, and 3 more");
  EXPECT_EQ(MarkNames({}), "");
}

}  // namespace
}  // namespace memtool
