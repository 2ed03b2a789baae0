#include "memtool/formats/keywords.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace memtool::formats {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// "axis{Category[word word] …}" of a file, or its error.
std::string DictionaryText(std::string_view text) {
  const auto file = ParseKeywords(text, "k.yaml");
  if (!file) {
    return ToString(file.error());
  }
  std::string out;
  for (const Axis& axis : file->dictionary.axes) {
    out += axis.name + "{";
    for (const Category& category : axis.categories) {
      out += category.name + "[";
      for (const Word& word : category.words) {
        out += (&word == category.words.data() ? "" : " ") + word.written;
      }
      out += "]";
    }
    out += "}";
  }
  if (file->profile) {
    out += " profile=" + *file->profile;
  }
  if (file->expected_sum) {
    out += " sum=" + file->expected_sum->text;
  }
  return out;
}

TEST(Keywords, FullForm) {
  EXPECT_EQ(DictionaryText(
                "profile: a.csv\nexpected_sum: 11GB\nkeywords:\n  RNN: [rnn, lstm]\n  Output:\n"
                "    - logits\n"),
            "{RNN[rnn lstm]Output[logits]} profile=a.csv sum=11GB");
  EXPECT_EQ(DictionaryText("keywords:\n  layer: {RNN: [rnn]}\n  kind: {W: [weight], G: []}\n"),
            "layer{RNN[rnn]}kind{W[weight]G[]}");
}

TEST(Keywords, ShortForm) {
  EXPECT_EQ(DictionaryText("RNN: [rnn]\nOutput: [logits]\n"), "{RNN[rnn]Output[logits]}");
  EXPECT_EQ(DictionaryText("layer: {RNN: [rnn]}\nkind: {W: [w]}\nprofile: x.log\n"),
            "layer{RNN[rnn]}kind{W[w]} profile=x.log");
  // A category may have the name of a setting; a setting has a scalar.
  EXPECT_EQ(DictionaryText("profile: [prof]\nexpected_sum: 5\n"), "{profile[prof]} sum=5");
  EXPECT_EQ(DictionaryText("keywords: [kw]\nOther: [o]\n"), "{keywords[kw]Other[o]}");
}

TEST(Keywords, JsonIsReadToo) {
  EXPECT_EQ(DictionaryText(
                "{\n\t\"profile\": \"a\\/b.csv\",\n\t\"keywords\": {\"R\\u00e9\": [\"r\", \"x: "
                "y\"]}\n}\n"),
            "{Ré[r x: y]} profile=a/b.csv");
}

TEST(Keywords, ScalarsStayText) {
  EXPECT_EQ(DictionaryText("no: [yes, 1.0, off, '~', 0x10]\n1.5: ['true']\n"),
            "{no[yes 1.0 off ~ 0x10]1.5[true]}");
}

TEST(Keywords, WordsOfEveryKind) {
  const auto file =
      ParseKeywords("A: [plain, '/re.x/', 'label:kind=buffer', 'file:optim/', /]\n", "k");
  ASSERT_TRUE(file);
  const auto& words = file->dictionary.axes[0].categories[0].words;
  ASSERT_EQ(words.size(), 5U);
  EXPECT_EQ(words[0].kind, Word::Kind::kText);
  EXPECT_EQ(words[1].kind, Word::Kind::kRegex);
  EXPECT_EQ(words[1].text, "re.x");
  EXPECT_EQ(words[2].kind, Word::Kind::kLabel);
  EXPECT_EQ(words[2].key, "kind");
  EXPECT_EQ(words[2].text, "buffer");
  EXPECT_EQ(words[3].kind, Word::Kind::kFile);
  EXPECT_EQ(words[4].kind, Word::Kind::kText);
}

std::string WrittenFile(const std::string& name, std::string_view text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

struct RefusedText {
  const char* text;
  const char* place;
  const char* message;
};

TEST(Keywords, RefusesWithItsPlace) {
  const RefusedText cases[] = {
      {"", "k.yaml:1:1", "empty"},
      {"# only a comment\n", "k.yaml", "empty"},
      {"- a\n- b\n", "k.yaml:1:1", "a list where"},
      {"just text\n", "k.yaml:1:1", "a text where"},
      {"A: [x]\nB: {C: [y]}\n", "k.yaml:2:1", "'B' is a map, 'A' before it a list"},
      {"A: {C: [y]}\nB: [x]\n", "k.yaml:2:1", "'B' is a list, 'A' before it a map"},
      {"A: rnn\n", "k.yaml:1:4", "write a list: A: [rnn]"},
      {"A:\n  B: rnn\n", "k.yaml:2:6", "write a list: B: [word, word]"},
      {"A: [x]\nA: [y]\n", "k.yaml:2:1", "twice, first at 1:1"},
      {"A: [x]\nOthers: [y]\n", "k.yaml:2:1", "a category named 'Others'"},
      {"a: {untrackable: [y]}\n", "k.yaml:1:5", "a category named 'untrackable'"},
      {"A: [x, '']\n", "k.yaml:1:8", "empty word"},
      {"A: [x, 'file:']\n", "k.yaml:1:8", "file: without a text"},
      {"A: [x, ~]\n", "k.yaml:1:8", "put it in quotes"},
      {"null: [x]\n", "k.yaml:1:1", "put it in quotes"},
      {"A: ['label:kind']\n", "k.yaml:1:5", "label:KEY=VALUE"},
      {"A: ['/(/']\n", "k.yaml:1:5", "not a regular expression"},
      {"A: &x [x]\nB: *x\n", "k.yaml:1:4", "anchor"},
      {"A: [x]\nB: [*y]\n", "k.yaml:2:5", "anchor"},
      {"A: !!python/object:os.system [x]\n", "k.yaml:1:4", "type tag"},
      {"A: [!!binary aGk=]\n", "k.yaml:1:5", "type tag"},
      {"<<: [x]\n", "k.yaml:1:1", "merge key"},
      {"? [a, b]\n: [x]\n", "k.yaml:1:3", "in place of a name"},
      {"A: [[x]]\n", "k.yaml:1:5", "inside a list of words"},
      {"A: [{x: y}]\n", "k.yaml:1:5", "inside a list of words"},
      {"---\nA: [x]\n---\nB: [y]\n", "k.yaml:", "second document"},
      {"A: [x]]\n", "k.yaml:", "not YAML"},
      {"keywords: {A: [x]}\nnosuch: 5\n", "k.yaml:2:1", "'nosuch' beside keywords:"},
      {"profile: a.csv\n", "k.yaml:1:1", "no categories"},
      {"keywords: {}\n", "k.yaml:1:11", "no categories"},
      {"keywords: {axis: {}}\n", "k.yaml:1:18", "axis 'axis' has no categories"},
      {"profile:\nkeywords: {A: [x]}\n", "k.yaml:", "profile: without a value"},
      {"A: {B: {C: {D: {E: [x]}}}}\n", "k.yaml:1:16", "nested too deep"},
      {"A: [\xff]\n", "k.yaml:1:5", "not UTF-8"},
      {"A: [x]\nB: [\xc0\xaf]\n", "k.yaml:2:5", "not UTF-8"},
  };
  for (const RefusedText& each : cases) {
    EXPECT_THAT(DictionaryText(each.text), AllOf(StartsWith(each.place), HasSubstr(each.message)))
        << each.text;
  }
  EXPECT_THAT(DictionaryText(std::string_view("A: [x\0y]\n", 9)),
              AllOf(StartsWith("k.yaml:1:6"), HasSubstr("NUL")));
}

TEST(Keywords, StaysWithinItsLimits) {
  std::string many = "A: [";
  for (int i = 0; i <= 10'000; ++i) {
    many += "w" + std::to_string(i) + ",";
  }
  EXPECT_THAT(DictionaryText(many + "]\n"), HasSubstr("more than 10000 words"));
  const std::string deep = "A: " + std::string(100'000, '[');
  EXPECT_THAT(DictionaryText(deep), HasSubstr("k.yaml"));
  std::string bomb = "a: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [*" + static_cast<char>(c - 1) + ", *" +
            static_cast<char>(c - 1) + "]\n";
  }
  EXPECT_THAT(DictionaryText(bomb), HasSubstr("anchor"));
}

TEST(Keywords, PathsInAFileAreMeantFromTheFile) {
  const std::string path =
      WrittenFile("keywords_paths.yaml", "profile: logs/a.csv\nexpected_sum: '@smi.csv'\nA: [x]\n");
  const auto file = ReadKeywords(path);
  ASSERT_TRUE(file) << ToString(file.error());
  const std::filesystem::path beside = std::filesystem::path(path).parent_path();
  EXPECT_EQ(*file->profile, (beside / "logs/a.csv").string());
  EXPECT_EQ(file->expected_sum->text, "@" + (beside / "smi.csv").string());
  EXPECT_EQ(file->expected_sum->place, path + ":2:15");
  const std::string big = WrittenFile("keywords_big.yaml", std::string((1U << 20U) + 1, '#'));
  EXPECT_EQ(ReadKeywords(big).error().code, ErrorCode::kLimit);
}

TEST(Keywords, BuiltinsReadAsTheirOwnFiles) {
  ASSERT_EQ(BuiltinDictionaries().size(), 6U);
  for (const BuiltinKeywords& each : BuiltinDictionaries()) {
    const auto file = ReadKeywords("builtin:" + std::string(each.name));
    ASSERT_TRUE(file) << ToString(file.error());
    EXPECT_TRUE(Keywords::Compile(file->dictionary));
    EXPECT_GT(file->dictionary.axes[0].categories.size(), 5U);
  }
  EXPECT_THAT(ToString(ReadKeywords("builtin:tensorflow").error()), HasSubstr("builtin:mxnet"));
}

}  // namespace
}  // namespace memtool::formats
