#include "memtool/profile/rows/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "memtool/profile/select/view.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using test::AllFrames;
using test::ProfileMaker;
using test::RandomProfile;
using testing::ElementsAre;
using testing::IsEmpty;

// Every rule other than memtool's; ranges are lists of digits, for labels of that many units.
FilterOptions OtherRules() {
  FilterOptions options = AllFrames();
  options.rules = {.show_needs_symbol = true,
                   .needs_stack = true,
                   .read_range = [](std::string_view text) -> NumberTest {
                     const auto digits = [](char c) { return c >= '0' && c <= '9'; };
                     if (text.empty() || !std::all_of(text.begin(), text.end(), digits)) {
                       return {};
                     }
                     return [wanted = std::stoll(std::string(text))](
                                std::string_view, std::int64_t number) { return number == wanted; };
                   }};
  return options;
}

Applied ApplyAll(const Recording& recording, const FilterOptions& options) {
  const auto filter = Filter::Compile(options);
  EXPECT_TRUE(filter.has_value());
  auto applied = Apply(View(recording, *filter));
  EXPECT_TRUE(applied.has_value());
  return *std::move(applied);
}

Recording Program() {
  return ProfileMaker()
      .Sample("main;a", {1, 100}, "kind=buffer size=#64bytes")
      .Sample("main;b", {1, 50}, "kind=executable")
      .Sample("main;outer+inner", {1, 4}, "size=#2000bytes")
      .Sample("main;!/lib/libc.so", {1, 8})
      .Sample("", {1, 1})
      .Finish();
}

std::vector<std::string> Left(const FilterOptions& options) {
  return test::Stacks(ApplyAll(Program(), options).recording);
}

TEST(Apply, WithoutOptionsKeepsEverything) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const Recording recording = RandomProfile(seed);
    EXPECT_EQ(test::Canonical(ApplyAll(recording, AllFrames()).recording),
              test::Canonical(recording));
  }
}

// What a view shows of a recording is what another view shows of the applied one.
TEST(Apply, SaysWhatTheViewSays) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    const Recording recording = RandomProfile(seed);
    FilterOptions options = AllFrames();
    options.ignore = seed % 3 == 0 ? "^f0$" : "";
    options.hide = seed % 2 == 0 ? "^(f1|g0)$" : "";
    options.show_from = seed % 5 == 0 ? "^f2$" : "";
    options.prune_from = seed % 7 == 0 ? "^f3$" : "";
    options.tag_focus = seed % 4 == 0 ? "device=0" : "";
    const Applied applied = ApplyAll(recording, options);
    EXPECT_EQ(test::Stacks(applied.recording), test::Stacks(recording, options)) << seed;
    EXPECT_EQ(applied.recording.locations.size(), recording.locations.size());
  }
}

TEST(Apply, TakesLabelsOut) {
  FilterOptions options = AllFrames();
  options.tag_hide = "kind";
  const Recording recording = ApplyAll(Program(), options).recording;
  for (const Label& label : recording.label_sets.items()) {
    EXPECT_EQ(recording.Text(label.key), "size");
  }
}

TEST(Apply, NamesLabelFiltersThatMatchNoSampleLeft) {
  FilterOptions options = AllFrames();
  options.focus = "^b$";
  options.tag_focus = "kind=buffer";  // only of samples that the focus drops
  options.tag_show = "size";
  EXPECT_THAT(ApplyAll(Program(), options).unmatched, ElementsAre("tagfocus", "tagshow"));
  options.focus = "^a$";
  EXPECT_THAT(ApplyAll(Program(), options).unmatched, IsEmpty());
}

TEST(OtherFilterRules, DropsSamplesWithoutAStack) {
  EXPECT_THAT(Left(OtherRules()),
              ElementsAre("main;a 100", "main;b 50", "main;[libc.so] 8", "main;outer;inner 4"));
}

TEST(OtherFilterRules, ShowHidesWhatHasNoSymbol) {
  FilterOptions options = OtherRules();
  options.show = "libc|^a$";
  EXPECT_THAT(Left(options), ElementsAre("a 100"));
  options.rules = {};
  EXPECT_THAT(Left(options), ElementsAre("a 100", "[libc.so] 8"));
}

TEST(OtherFilterRules, ANumberMatchesNoText) {
  const Recording recording =
      ProfileMaker().Sample("f", {1, 1}, "device=cuda:0").Sample("g", {1, 2}, "x=#0").Finish();
  FilterOptions options = OtherRules();
  options.tag_focus = "0";
  EXPECT_THAT(test::Stacks(ApplyAll(recording, options).recording), ElementsAre("g 2"));
  options.tag_focus = "device=0";
  EXPECT_THAT(test::Stacks(ApplyAll(recording, options).recording), IsEmpty());
  options.rules = {};
  EXPECT_THAT(test::Stacks(ApplyAll(recording, options).recording), ElementsAre("f 1"));
}

TEST(Filter, ShowFromLooksAtVisibleFramesOnly) {
  const Recording recording =
      ProfileMaker().Sample("main!/bin/x;f!/bin/y;g!/bin/y", {1, 1}).Finish();
  FilterOptions options = AllFrames();
  options.hide = "^g$";
  options.show_from = "/bin/y";
  EXPECT_THAT(test::Stacks(recording, options), ElementsAre("f 1"));
  options.hide = "^(f|g)$";
  EXPECT_THAT(test::Stacks(recording, options), IsEmpty());
}

std::vector<std::string> Dropped(std::string_view stack, const std::string& drop,
                                 const std::string& keep = "") {
  FilterOptions options = AllFrames();
  options.drop_frames = drop;
  options.keep_frames = keep;
  return test::Stacks(ProfileMaker().Sample(stack, {1, 1}).Finish(), options);
}

TEST(Filter, DropFramesTakesWhatLiesBelowAMatch) {
  EXPECT_THAT(Dropped("main;f;malloc;brk", "malloc"), ElementsAre("main;f 1"));
  // A whole name, the outermost match, and what it is inlined into stays.
  EXPECT_THAT(Dropped("main;f;malloc;brk", "mall"), ElementsAre("main;f;malloc;brk 1"));
  EXPECT_THAT(Dropped("main;f;malloc;g;malloc", "malloc"), ElementsAre("main;f 1"));
  EXPECT_THAT(Dropped("main;f+malloc;brk", "malloc"), ElementsAre("main;f 1"));
  EXPECT_THAT(Dropped("main;malloc;brk", "malloc|brk", "malloc"), ElementsAre("main;malloc 1"));
  // Nothing outside the first frame that is not to be dropped.
  EXPECT_THAT(Dropped("malloc;main;f", "malloc"), ElementsAre("malloc;main;f 1"));
  // Not expressions.
  EXPECT_THAT(Dropped("main;malloc", "malloc("), ElementsAre("main;malloc 1"));
  EXPECT_THAT(Dropped("main;malloc", "malloc", "("), ElementsAre("main;malloc 1"));
}

}  // namespace
}  // namespace memtool
