#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "snapshot_text.h"

namespace memtool::tests {
namespace {

TEST(TorchHostile, EveryMalformedFileNamesItsFault) {
  std::ifstream manifest(CorpusFile("malformed/manifest.tsv"));
  std::size_t files = 0;
  for (std::string line; std::getline(manifest, line);) {
    if (line.starts_with('#')) {
      continue;
    }
    const std::size_t tab = line.find('\t');
    const std::string name = line.substr(0, tab);
    const auto recording = formats::OpenRecording(CorpusFile("malformed/" + name));
    ASSERT_FALSE(recording) << name;
    const std::regex expected(line.substr(tab + 1), std::regex::icase);
    EXPECT_TRUE(std::regex_search(ToString(recording.error()), expected))
        << ToString(recording.error()) << "\n  should match: " << line.substr(tab + 1);
    ++files;
  }
  EXPECT_GT(files, 80U);
}

class TorchDamage : public testing::TestWithParam<const char*> {};

// A cut is an error everywhere except where only padding is lost.
TEST_P(TorchDamage, CutAnywhere) {
  const std::string whole = ReadWhole(CorpusFile(std::string("forms/") + GetParam()));
  const std::string expected = Describe(*LoadText(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto recording = LoadText(whole.substr(0, size));
    EXPECT_TRUE(!recording || Describe(*recording) == expected) << "cut at " << size;
  }
}

// A changed byte may change a number, but nothing worse.
TEST_P(TorchDamage, ChangedAnywhere) {
  const std::string whole = ReadWhole(CorpusFile(std::string("forms/") + GetParam()));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned change : {0x01U, 0x80U, 0xffU, 0x28U}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ change);
      const auto recording = LoadText(bytes);
      if (recording) {
        EXPECT_LE(recording->history->events.size(), Describe(*recording).size());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, TorchDamage,
                         testing::Values("proto2.pickle", "proto4.pickle", "native.pickle",
                                         "snapshot.json", "page.html", "plot.html",
                                         "schema_2.12.pickle", "schema_2.0_native.pickle"));

}  // namespace
}  // namespace memtool::tests
