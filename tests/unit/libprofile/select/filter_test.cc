#include "memtool/profile/select/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memtool/profile/select/view.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using test::AllFrames;
using test::ProfileMaker;
using test::Stacks;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using Member = std::string FilterOptions::*;

// main calls a, b and c; b also through a; one location is inlined; one sample has no stack.
Recording Program() {
  return ProfileMaker()
      .Sample("main@main.py:1;a@lib.py:2", {1, 100})
      .Sample("main@main.py:1;b@lib.py:3", {1, 50})
      .Sample("main@main.py:1;a@lib.py:2;b@lib.py:3", {1, 20})
      .Sample("main@main.py:1;c@c.py:4!/lib/libc.so", {1, 8})
      .Sample("main@main.py:1;outer@o.h:5+inner@i.h:6", {1, 4})
      .Sample("", {1, 1})
      .Finish();
}

std::vector<std::string> With(const Recording& recording,
                              const std::vector<std::pair<Member, std::string>>& options) {
  FilterOptions all = AllFrames();
  for (const auto& [member, value] : options) {
    all.*member = value;
  }
  return Stacks(recording, all);
}

TEST(Filter, WithoutOptionsKeepsAll) {
  EXPECT_THAT(With(Program(), {}), ElementsAre("main;a 100", "main;b 50", "main;a;b 20", "main;c 8",
                                               "main;outer;inner 4", "(no stack) 1"));
}

TEST(Filter, FocusKeepsStacksWithAMatch) {
  const Recording program = Program();
  EXPECT_THAT(With(program, {{&FilterOptions::focus, "^b$"}}),
              ElementsAre("main;b 50", "main;a;b 20"));
  // File names and mappings match too; an inlined frame is a frame.
  EXPECT_THAT(With(program, {{&FilterOptions::focus, "c\\.py"}}), ElementsAre("main;c 8"));
  EXPECT_THAT(With(program, {{&FilterOptions::focus, "libc\\.so"}}), ElementsAre("main;c 8"));
  EXPECT_THAT(With(program, {{&FilterOptions::focus, "inner"}}), ElementsAre("main;outer;inner 4"));
  EXPECT_THAT(With(program, {{&FilterOptions::focus, "nothing"}}), IsEmpty());
}

TEST(Filter, IgnoreDropsStacksWithAMatch) {
  EXPECT_THAT(With(Program(), {{&FilterOptions::ignore, "^b$"}}),
              ElementsAre("main;a 100", "main;c 8", "main;outer;inner 4"));
  EXPECT_THAT(With(Program(), {{&FilterOptions::focus, "^a$"}, {&FilterOptions::ignore, "^b$"}}),
              ElementsAre("main;a 100"));
}

TEST(Filter, HideTakesFramesOut) {
  // Stacks without a frame left vanish, and so does the one that never had any (pprof's rule).
  EXPECT_THAT(With(Program(), {{&FilterOptions::hide, "^(b|inner)$"}}),
              ElementsAre("main;a 120", "main 50", "main;c 8", "main;outer 4"));
  EXPECT_THAT(
      With(Program(), {{&FilterOptions::hide, "libc\\.so"}}),
      ElementsAre("main;a 100", "main;b 50", "main;a;b 20", "main 8", "main;outer;inner 4"));
  EXPECT_THAT(With(Program(), {{&FilterOptions::hide, "."}}), IsEmpty());
}

TEST(Filter, ShowTakesTheOthersOut) {
  EXPECT_THAT(With(Program(), {{&FilterOptions::show, "^(a|b)$"}}),
              ElementsAre("a 100", "b 50", "a;b 20"));
  EXPECT_THAT(With(Program(), {{&FilterOptions::show, "^(a|b)$"}, {&FilterOptions::hide, "^b$"}}),
              ElementsAre("a 120"));
}

TEST(Filter, ShowFromCutsCallersOfTheOutermostMatch) {
  EXPECT_THAT(With(Program(), {{&FilterOptions::show_from, "^(a|b)$"}}),
              ElementsAre("a 100", "b 50", "a;b 20"));
  const Recording recursive =
      ProfileMaker().Sample("main;f;g;f;h", {1, 5}).Sample("main;h", {1, 2}).Finish();
  EXPECT_THAT(With(recursive, {{&FilterOptions::show_from, "^f$"}}), ElementsAre("f;g;f;h 5"));
  const Recording inlined = ProfileMaker().Sample("main;outer+inner;leaf", {1, 5}).Finish();
  EXPECT_THAT(With(inlined, {{&FilterOptions::show_from, "^inner$"}}), ElementsAre("inner;leaf 5"));
}

TEST(Filter, PruneFromCutsBelowTheInnermostMatch) {
  EXPECT_THAT(
      With(Program(), {{&FilterOptions::prune_from, "^a$"}}),
      ElementsAre("main;a 120", "main;b 50", "main;c 8", "main;outer;inner 4", "(no stack) 1"));
  const Recording inlined = ProfileMaker().Sample("main;outer+inner;leaf", {1, 5}).Finish();
  EXPECT_THAT(With(inlined, {{&FilterOptions::prune_from, "^outer$"}}),
              ElementsAre("main;outer 5"));
  // Arguments are not part of the name that is matched; operator() is.
  const Recording arguments = ProfileMaker()
                                  .Sample("main;f(int);leaf", {1, 5})
                                  .Sample("main;X::operator()(int);leaf", {1, 3})
                                  .Finish();
  EXPECT_THAT(With(arguments, {{&FilterOptions::prune_from, "int"}}),
              ElementsAre("main;f(int);leaf 5", "main;X::operator()(int);leaf 3"));
  EXPECT_THAT(With(arguments, {{&FilterOptions::prune_from, "^X::operator\\(\\)$"}}),
              ElementsAre("main;f(int);leaf 5", "main;X::operator()(int) 3"));
}

Recording Labelled() {
  return ProfileMaker()
      .Sample("a", {1, 100}, "device=cuda:0 kind=buffer")
      .Sample("b", {1, 50}, "device=cuda:1 kind=buffer")
      .Sample("c", {1, 20}, "kind=executable")
      .Sample("d", {1, 8}, "bytes=#64bytes")
      .Sample("e", {1, 4}, "bytes=#2kilobytes")
      .Sample("f", {1, 2}, "step=#5")
      .Sample("g", {1, 1})
      .Finish();
}

TEST(TagFocus, HasAGrammar) {
  struct Case {
    const char* option;
    std::vector<std::string> stacks;
  };
  for (const auto& [option, stacks] : {
           Case{"device=cuda:0", {"a 100"}},
           {"device=cuda:.", {"a 100", "b 50"}},
           {"cuda:1", {"b 50"}},
           {"buffer", {"a 100", "b 50"}},
           {"kind=buffer,executable", {"a 100", "b 50", "c 20"}},  // with a key: any
           {"buffer,cuda:1", {"b 50"}},                            // without: all
           {"nosuch=buffer", {}},
           {"device=buffer", {}},
           {"kind:exec", {"c 20"}},  // key:value is matched together
           {"bytes=64", {"d 8"}},
           {"bytes=64B", {"d 8"}},
           {"bytes=1B:1kB", {"d 8"}},
           {"bytes=65B:", {"e 4"}},
           {"bytes=2KB", {"e 4"}},
           {"bytes=:64B", {"d 8"}},
           {"step=5", {"f 2"}},
           {"step=4:6", {"f 2"}},
           {"step=6:", {}},
           {"step=-3:-1", {}},
       }) {
    FilterOptions options = AllFrames();
    options.tag_focus = option;
    EXPECT_EQ(Stacks(Labelled(), options), stacks) << option;
  }
}

TEST(TagIgnore, DropsMatches) {
  EXPECT_THAT(With(Labelled(), {{&FilterOptions::tag_ignore, "kind=buffer"}}),
              ElementsAre("c 20", "d 8", "e 4", "f 2", "g 1"));
  EXPECT_THAT(With(Labelled(), {{&FilterOptions::tag_focus, "kind=."},
                                {&FilterOptions::tag_ignore, "device=cuda:0"}}),
              ElementsAre("b 50", "c 20"));
}

TEST(TagFrames, AreRootsAndLeaves) {
  const Recording recording = ProfileMaker()
                                  .Sample("main;a", {1, 100}, "device=cuda:0 kind=buffer")
                                  .Sample("main;a", {1, 20}, "device=cuda:0 device=cuda:1")
                                  .Sample("main;a", {1, 3}, "bytes=#64bytes")
                                  .Sample("", {1, 1}, "device=cuda:0")
                                  .Finish();
  EXPECT_THAT(With(recording, {{&FilterOptions::tag_root, "device,kind"}}),
              ElementsAre("cuda:0;buffer;main;a 100", "cuda:0,cuda:1;(no kind);main;a 20",
                          "(no device);(no kind);main;a 3", "cuda:0;(no kind) 1"));
  EXPECT_THAT(With(recording, {{&FilterOptions::tag_leaf, "bytes"}}),
              ElementsAre("main;a;(no bytes) 120", "main;a;64 bytes 3", "(no bytes) 1"));
}

TEST(FrameModes, HideWhatNobodyCanChange) {
  const Recording recording =
      ProfileMaker()
          .Sample(
              "train@/home/u/train.py:1;__call__@/usr/lib/python3/site-packages/jax/a.py:2;"
              "xla::Run@pjrt.cc:3",
              {1, 100})
          .Sample("boot@/usr/lib/python3/site-packages/jax/b.py:2;xla::Run@pjrt.cc:3", {1, 20})
          .Sample("xla::Run@pjrt.cc:3;c10::alloc@a.cpp:1", {1, 3})
          .Finish();
  FilterOptions options;
  options.frames = FrameMode::kApp;
  // What would be left without a frame falls back: app, then Python, then all.
  EXPECT_THAT(Stacks(recording, options),
              ElementsAre("train 100", "boot 20", "xla::Run;c10::alloc 3"));
  options.frames = FrameMode::kPython;
  EXPECT_THAT(Stacks(recording, options),
              ElementsAre("train;__call__ 100", "boot 20", "xla::Run;c10::alloc 3"));
  options.frames = FrameMode::kAll;
  EXPECT_THAT(Stacks(recording, options), ElementsAre("train;__call__;xla::Run 100",
                                                      "boot;xla::Run 20", "xla::Run;c10::alloc 3"));
}

TEST(Filter, NamesOptionsThatMatchedNothing) {
  const Recording program = Program();
  FilterOptions options = AllFrames();
  options.focus = "main";
  options.ignore = "nosuch";
  options.tag_focus = "kind=buffer";
  const auto filter = Filter::Compile(options);
  ASSERT_TRUE(filter.has_value());
  EXPECT_THAT(View(program, *filter).Unmatched(), ElementsAre("ignore", "tagfocus"));
  EXPECT_TRUE(filter->drops_samples());
  EXPECT_FALSE(Filter().drops_samples());
}

TEST(Filter, RefusesBadExpressionsByName) {
  for (const auto& [member, option] : {std::pair{&FilterOptions::focus, "--focus: "},
                                       {&FilterOptions::ignore, "--ignore: "},
                                       {&FilterOptions::hide, "--hide: "},
                                       {&FilterOptions::show, "--show: "},
                                       {&FilterOptions::show_from, "--show-from: "},
                                       {&FilterOptions::prune_from, "--prune-from: "},
                                       {&FilterOptions::tag_focus, "--tagfocus: "},
                                       {&FilterOptions::tag_ignore, "--tagignore: "},
                                       {&FilterOptions::tag_show, "--tagshow: "},
                                       {&FilterOptions::tag_hide, "--taghide: "}}) {
    for (const char* text : {"a(b", "[", "*", "(?<x", "\\"}) {
      FilterOptions options;
      options.*member = text;
      const auto filter = Filter::Compile(options);
      ASSERT_FALSE(filter.has_value()) << option << text;
      EXPECT_EQ(filter.error().code, ErrorCode::kUsage);
      EXPECT_THAT(filter.error().message, StartsWith(option));
    }
  }
}

}  // namespace
}  // namespace memtool
