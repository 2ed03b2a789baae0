#include "memtool/profile/rows/diff.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using test::ProfileMaker;
using testing::ElementsAre;

// A recording with all that an Input refers to.
struct Side {
  explicit Side(Recording from)
      : recording(std::move(from)),
        filter(*Filter::Compile(test::AllFrames())),
        view(recording, filter),
        choice(*ChooseValue(recording, "")),
        sums(SumByStack(view, choice)) {}
  Recording recording;
  Filter filter;
  View view;
  ValueChoice choice;
  StackSums sums;
  [[nodiscard]] Input AsInput() const {
    return {.view = &view, .sums = &sums, .choice = &choice, .name = "side"};
  }
};

// "name base new status through".
std::vector<std::string> Diff(const Side& base, const Side& now, SortBy sort = SortBy::kFlat) {
  NodeSpace space;
  Tabulator base_table(By{}, space);
  Tabulator now_table(By{}, space);
  base_table.Add(base.AsInput());
  now_table.Add(now.AsInput());
  auto rows = DiffRows(base_table.Rows(sort), now_table.Rows(sort), sort);
  const std::array base_inputs{base.AsInput()};
  const std::array now_inputs{now.AsInput()};
  FillThrough(rows, base_inputs, now_inputs, Granularity::kFileFunction, space);
  constexpr std::array kNames{"unchanged", "changed", "new", "gone"};
  std::vector<std::string> texts;
  for (const DiffRow& row : rows) {
    texts.push_back(fmt::format("{} {} {} {}{}{}", row.name, row.base.flat, row.now.flat,
                                kNames[static_cast<std::size_t>(row.status)],
                                row.through.empty() ? "" : " through ", row.through));
  }
  return texts;
}

TEST(Diff, TellsNewGoneChangedAndUnchanged) {
  const Side base(ProfileMaker()
                      .Sample("main;same", {1, 5})
                      .Sample("main;grown", {1, 10})
                      .Sample("main;gone", {1, 7})
                      .Finish());
  const Side now(ProfileMaker()
                     .Sample("main;same", {1, 5})
                     .Sample("main;grown", {2, 30})
                     .Sample("main;fresh", {1, 8})
                     .Finish());
  EXPECT_THAT(Diff(base, now), ElementsAre("grown 10 30 changed", "fresh 0 8 new", "gone 7 0 gone",
                                           "main 0 0 changed", "same 5 5 unchanged"));
  EXPECT_THAT(Diff(base, now, SortBy::kCum),
              ElementsAre("main 0 0 changed", "grown 10 30 changed", "fresh 0 8 new",
                          "gone 7 0 gone", "same 5 5 unchanged"));
}

TEST(Diff, OfAProfileWithItselfIsUnchanged) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const Side a(test::RandomProfile(seed));
    const Side b(test::RandomProfile(seed));
    for (const std::string& row : Diff(a, b)) {
      EXPECT_THAT(row, testing::EndsWith(" unchanged"));
    }
  }
}

TEST(Diff, NamesTheCallerThatCarriesTheGrowth) {
  const Side base(ProfileMaker()
                      .Sample("main;load;alloc", {1, 10})
                      .Sample("main;train;alloc", {1, 10})
                      .Finish());
  const Side grown(ProfileMaker()
                       .Sample("main;load;alloc", {1, 10})
                       .Sample("main;train;alloc", {1, 110})
                       .Finish());
  EXPECT_THAT(Diff(base, grown), testing::Contains("alloc 20 120 changed through train"));
  // With a single caller there is nothing to tell.
  const Side one(ProfileMaker().Sample("main;train;alloc", {1, 10}).Finish());
  const Side more(ProfileMaker().Sample("main;train;alloc", {1, 20}).Finish());
  EXPECT_THAT(Diff(one, more), testing::Contains("alloc 10 20 changed"));
  // Half and half: only main carries all of it.
  const Side both(ProfileMaker()
                      .Sample("main;load;alloc", {1, 60})
                      .Sample("main;train;alloc", {1, 60})
                      .Finish());
  EXPECT_THAT(Diff(base, both), testing::Contains("alloc 20 120 changed through main"));
}

}  // namespace
}  // namespace memtool
