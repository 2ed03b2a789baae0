#include "memtool/formats/frames.h"

#include <gtest/gtest.h>

#include <string>

namespace memtool::formats {
namespace {

// "own{group[word word]} not_own{…} through[…]" of a file, or its error.
std::string ReadFrames(std::string_view text) {
  const auto rules = ParseFrameRules(text, "/home/u/frames.yaml");
  if (!rules) {
    return ToString(rules.error());
  }
  const auto list = [](const std::vector<std::string>& words) {
    std::string out = "[";
    for (const std::string& word : words) {
      out += (&word == words.data() ? "" : " ") + word;
    }
    return out + "]";
  };
  const auto groups = [&list](const std::vector<FrameRules::Group>& all) {
    std::string out = "{";
    for (const FrameRules::Group& group : all) {
      out += group.name + list(group.words);
    }
    return out + "}";
  };
  return "own" + groups(rules->layers.front().own) + " not_own" +
         groups(rules->layers.front().not_own) + " through" + list(rules->through);
}

TEST(FramesFile, ListsAndListsWithNames) {
  EXPECT_EQ(ReadFrames("own: [mine, '/^my_/']\nnot_own:\n  Helpers: [helpers]\nthrough: [call]\n"),
            "own{frames.yaml[mine /^my_/]} not_own{Helpers[helpers]} through[call]");
}

TEST(FramesFile, WhatIsWrongIsNamedWithItsPlace) {
  EXPECT_EQ(ReadFrames("owns: [a]\n"),
            "/home/u/frames.yaml:1:1: 'owns' is not known (own:, not_own: or through:)");
  EXPECT_EQ(
      ReadFrames("own: a\n"),
      "/home/u/frames.yaml:1:6: the words of 'own' are a text (write a list: own: [word, word])");
  EXPECT_NE(
      ReadFrames("own:\n  - '/(/'\n").find("/home/u/frames.yaml:2:5: own: '(' is not a regular"),
      std::string::npos)
      << ReadFrames("own:\n  - '/(/'\n");
  EXPECT_NE(ReadFrames("").find("an empty file of frames"), std::string::npos) << ReadFrames("");
}

// What --print-frames prints can be read, and says the same.
TEST(FramesFile, BuiltinRulesReadBack) {
  const FrameRules& builtin = BuiltinFrameRules();
  const auto read = ParseFrameRules(FormatFrameRules(builtin), "frames.yaml");
  ASSERT_TRUE(read) << ToString(read.error());
  ASSERT_EQ(read->layers.size(), 1U);
  const auto& wanted = builtin.layers.front().not_own;
  const auto& got = read->layers.front().not_own;
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].name, wanted[i].name);
    EXPECT_EQ(got[i].words, wanted[i].words);
  }
  EXPECT_EQ(read->through, builtin.through);
}

}  // namespace
}  // namespace memtool::formats
