#include "memtool/profile/rows/buckets.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "support/make_profile.h"

namespace memtool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::string>;

// "Name: word, word" per category; "axis/Name: …" with several axes.
Keywords MakeKeywords(const Rows& lines) {
  Dictionary dictionary;
  for (const std::string& line : lines) {
    const std::size_t colon = line.find(": ");
    const std::size_t slash = line.substr(0, colon).find('/');
    const std::string axis = slash == std::string::npos ? "" : line.substr(0, slash);
    Category category{.name = line.substr(slash == std::string::npos ? 0 : slash + 1,
                                          colon - (slash == std::string::npos ? 0 : slash + 1)),
                      .words = {}};
    std::string rest = line.substr(colon + 2);
    while (!rest.empty()) {
      const std::size_t comma = rest.find(", ");
      category.words.push_back(*ParseWord(rest.substr(0, comma)));
      rest = comma == std::string::npos ? "" : rest.substr(comma + 2);
    }
    if (dictionary.axes.empty() || dictionary.axes.back().name != axis) {
      dictionary.axes.push_back({.name = axis, .categories = {}});
    }
    dictionary.axes.back().categories.push_back(std::move(category));
  }
  return *Keywords::Compile(std::move(dictionary));
}

struct Prepared {
  Recording recording;
  Filter filter;
  View view;
  ValueChoice choice;
  StackSums sums;
  explicit Prepared(Recording made, const FilterOptions& options = test::AllFrames())
      : recording(std::move(made)),
        filter(*Filter::Compile(options)),
        view(recording, filter),
        choice(*ChooseValue(recording, "")),
        sums(SumByStack(view, choice)) {}
  [[nodiscard]] Input AsInput() const {
    return {.view = &view, .sums = &sums, .choice = &choice, .name = "in"};
  }
};

Rows Buckets(const BucketTable& table) {
  Rows rows;
  for (const BucketAxis& axis : table.Axes()) {
    for (const Bucket& bucket : axis.buckets) {
      rows.push_back(fmt::format("{}{}{} {} {}", axis.name, axis.name.empty() ? "" : "/",
                                 bucket.name, bucket.sum.bytes, bucket.sum.count));
    }
  }
  return rows;
}

Recording TagLog() {
  return test::ProfileMaker()
      .Sample("arg;rnn_weight", {1, 100}, "tag=in_arg:rnn_weight")
      .Sample("arg;rnn_cls", {2, 30}, "tag=in_arg:rnn_cls")
      .Sample("fwd", {1, 7}, "tag=forward_features:cls_fwd")
      .Sample("x", {1, 3}, "tag=unknown")
      .Finish();
}

// What only a rest: word matches is its category's, wherever in the file that is.
TEST(Buckets, RestIsWhatNoOtherWordMatches) {
  const Prepared input(TagLog());
  NodeSpace space;
  const Keywords words = MakeKeywords({"Outputs: rest:/:[^:]+$/", "RNN: rnn"});
  BucketTable table(words, Multi::kFirst, space);
  ASSERT_TRUE(table.Add(input.AsInput()));
  EXPECT_THAT(Buckets(table), ElementsAre("Outputs 7 1", "RNN 130 3", "Others 3 1"));
  EXPECT_EQ(table.Axes()[0].ambiguous, 0);
  EXPECT_FALSE(ParseWord("rest:"));
}

TEST(Buckets, TheFirstCategoryInFileOrderWins) {
  const Prepared input(TagLog());
  NodeSpace space;
  const Keywords rnn_first = MakeKeywords({"RNN: rnn", "Output: cls"});
  BucketTable first(rnn_first, Multi::kFirst, space);
  ASSERT_TRUE(first.Add(input.AsInput()));
  EXPECT_THAT(Buckets(first), ElementsAre("RNN 130 3", "Output 7 1", "Others 3 1"));
  EXPECT_EQ(first.Axes()[0].ambiguous, 30);
  EXPECT_EQ(first.Axes()[0].repeated, 0);
  EXPECT_EQ(first.UnnamedBytes(), 3);
  EXPECT_THAT(first.WordBytes(), ElementsAre(130, 37));

  const Keywords output_first = MakeKeywords({"Output: cls", "RNN: rnn"});
  BucketTable second(output_first, Multi::kFirst, space);
  ASSERT_TRUE(second.Add(input.AsInput()));
  EXPECT_THAT(Buckets(second), ElementsAre("Output 37 3", "RNN 100 1", "Others 3 1"));
}

TEST(Buckets, AllCountsInEveryCategoryAndErrorNamesTheRow) {
  const Prepared input(TagLog());
  NodeSpace space;
  const Keywords keywords = MakeKeywords({"RNN: rnn, weight", "Output: cls"});
  BucketTable all(keywords, Multi::kAll, space);
  ASSERT_TRUE(all.Add(input.AsInput()));
  // Two words of one category count once.
  EXPECT_THAT(Buckets(all), ElementsAre("RNN 130 3", "Output 37 3", "Others 3 1"));
  EXPECT_EQ(all.Axes()[0].repeated, 30);
  EXPECT_EQ(all.total().bytes, 140);

  BucketTable error(keywords, Multi::kError, space);
  const auto refused = error.Add(input.AsInput());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("in_arg:rnn_cls"));
  EXPECT_THAT(refused.error().message, HasSubstr("'RNN' (word 'rnn')"));
}

TEST(Buckets, EveryAxisSumsToTheTotal) {
  const Prepared input(TagLog());
  NodeSpace space;
  const Keywords keywords =
      MakeKeywords({"layer/RNN: rnn", "kind/Weights: in_arg", "kind/Maps: forward_features"});
  BucketTable table(keywords, Multi::kFirst, space);
  ASSERT_TRUE(table.Add(input.AsInput()));
  EXPECT_THAT(Buckets(table),
              ElementsAre("layer/RNN 130 3", "layer/Others 10 2", "kind/Weights 130 3",
                          "kind/Maps 7 1", "kind/Others 3 1"));
}

TEST(Buckets, WithoutATagAnyFrameMatchesHiddenOnesToo) {
  FilterOptions options = test::AllFrames();
  options.hide = "step";
  const Prepared input(test::ProfileMaker()
                           .Sample("main@a.py;step@torch/optim/adam.py;zeros@b.py", {1, 50})
                           .Sample("main@a.py;forward@m.py", {1, 20}, "kind=buffer bytes=#64")
                           .Sample("main@a.py", {1, 2}, "kind=executable")
                           .Finish(),
                       options);
  NodeSpace space;
  const Keywords keywords =
      MakeKeywords({"Programs: label:kind=executable", "Big: label:bytes=64",
                    "Optimizer: file:torch/optim/", "Step: step, zeros", "None: (no stack)"});
  BucketTable table(keywords, Multi::kFirst, space);
  ASSERT_TRUE(table.Add(input.AsInput()));
  EXPECT_THAT(Buckets(table), ElementsAre("Programs 2 1", "Big 20 1", "Optimizer 50 1", "Step 0 0",
                                          "None 0 0", "Others 0 0"));
  EXPECT_EQ(table.Axes()[0].buckets[2].entries[0].name, "zeros");
}

// A constructor in a constructor; one that something else calls is none, nor are two apart.
TEST(Buckets, NestedIsTwoFramesOfWhichOneCallsTheOther) {
  const Prepared input(test::ProfileMaker()
                           .Sample("main;make", {1, 1})
                           .Sample("main;make;empty", {1, 2})
                           .Sample("main;make@a.py;make@b.py;empty", {1, 4})
                           .Sample("make;main;make", {1, 8})
                           .Sample("main;make;build;empty", {1, 16})
                           .Sample("x", {1, 32}, "tag=make")
                           .Finish());
  NodeSpace space;
  const Keywords keywords = MakeKeywords({"Parts: nested:make", "Either: nested:/^(make|build)$/"});
  BucketTable table(keywords, Multi::kFirst, space);
  ASSERT_TRUE(table.Add(input.AsInput()));
  EXPECT_THAT(Buckets(table), ElementsAre("Parts 4 1", "Either 16 1", "Others 43 4"));
  for (const char* word : {"nested:", "nested:file:a", "nested:label:k=v", "nested:rest:a"}) {
    EXPECT_FALSE(ParseWord(word)) << word;
  }
}

TEST(Buckets, WindowsPathsAreFilesToo) {
  const Prepared input(test::ProfileMaker()
                           .Sample("a@lib\\torch\\optim\\x.py", {1, 8})
                           .Sample("a@optim", {1, 4})
                           .Finish());
  NodeSpace space;
  const Keywords keywords = MakeKeywords({"Optimizer: file:torch/optim/"});
  BucketTable table(keywords, Multi::kFirst, space);
  ASSERT_TRUE(table.Add(input.AsInput()));
  EXPECT_THAT(Buckets(table), ElementsAre("Optimizer 8 1", "Others 4 1"));
}

TEST(Buckets, WhatHasNoFramesIsFoundByItsRow) {
  const Prepared input(test::ProfileMaker().Sample("", {1, 5}).Sample("main", {1, 2}).Finish());
  NodeSpace space;
  const Keywords keywords = MakeKeywords({"None: (no stack)"});
  BucketTable table(keywords, Multi::kFirst, space);
  ASSERT_TRUE(table.Add(input.AsInput()));
  EXPECT_THAT(Buckets(table), ElementsAre("None 5 1", "Others 2 1"));
}

TEST(Buckets, AFileIsNoFunctionAndCaseCounts) {
  const Prepared input(
      test::ProfileMaker().Sample("Main@rnn.py", {1, 8}).Sample("rnn@x.py", {1, 4}).Finish());
  NodeSpace space;
  const Keywords keywords = MakeKeywords({"Lower: rnn", "Upper: MAIN", "Regex: /^M.in$/"});
  BucketTable table(keywords, Multi::kFirst, space);
  ASSERT_TRUE(table.Add(input.AsInput()));
  EXPECT_THAT(Buckets(table), ElementsAre("Lower 4 1", "Upper 0 0", "Regex 8 1", "Others 0 0"));
}

TEST(Buckets, InputsAddUpAndFiltersHold) {
  const Prepared one(TagLog());
  FilterOptions options = test::AllFrames();
  options.focus = "fwd";
  const Prepared two(TagLog(), options);
  NodeSpace space;
  const Keywords keywords = MakeKeywords({"RNN: rnn"});
  BucketTable table(keywords, Multi::kFirst, space);
  ASSERT_TRUE(table.Add(one.AsInput()));
  ASSERT_TRUE(table.Add(two.AsInput()));
  EXPECT_THAT(Buckets(table), ElementsAre("RNN 130 3", "Others 17 3"));
}

TEST(Buckets, ExplainsWhichWordCaughtWhat) {
  const Prepared input(TagLog());
  NodeSpace space;
  const Keywords keywords = MakeKeywords({"RNN: rnn", "Output: cls"});
  BucketTable table(keywords, Multi::kFirst, space);
  table.set_explaining(true);
  ASSERT_TRUE(table.Add(input.AsInput()));
  const auto text = [&](std::string_view row) {
    Rows rows;
    for (const Explanation& each : table.Explain(row)) {
      rows.push_back(fmt::format("{} {} '{}' in {} also {}", each.sum.bytes, each.bucket, each.word,
                                 each.matched, each.also));
    }
    return rows;
  };
  EXPECT_THAT(text("RNN"), ElementsAre("100 RNN 'rnn' in in_arg:rnn_weight also ",
                                       "30 RNN 'rnn' in in_arg:rnn_cls also Output"));
  EXPECT_THAT(text("Others"), ElementsAre("3 Others '' in  also "));
  EXPECT_THAT(text("cls_fwd"), ElementsAre("7 Output 'cls' in forward_features:cls_fwd also "));
  EXPECT_TRUE(text("nosuch").empty());
}

// Rows and Others sum to the total whatever the profile, the words and the filter.
TEST(Buckets, AlwaysSumsToTheTotal) {
  const Keywords keywords =
      MakeKeywords({"a/A: a, b", "a/B: c", "a/C: /f[0-9]/", "b/D: label:k=v"});
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Prepared input(test::RandomProfile(seed));
    NodeSpace space;
    BucketTable table(keywords, Multi::kFirst, space);
    ASSERT_TRUE(table.Add(input.AsInput()));
    for (const BucketAxis& axis : table.Axes()) {
      BucketSum sum;
      for (const Bucket& bucket : axis.buckets) {
        sum.Add(bucket.sum);
        BucketSum entries;
        for (const BucketEntry& entry : bucket.entries) {
          entries.Add(entry.sum);
        }
        EXPECT_EQ(entries.bytes, bucket.sum.bytes);
      }
      EXPECT_EQ(sum.bytes, table.total().bytes);
      EXPECT_EQ(sum.bytes, input.sums.total);
    }
  }
}

}  // namespace
}  // namespace memtool
