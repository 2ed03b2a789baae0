#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <random>
#include <regex>
#include <string>
#include <tuple>

#include "memtool/formats/open.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/select/stack_sums.h"
#include "support/files.h"
#include "support/make_profile.h"
#include "support/wire.h"

namespace memtool::formats {
namespace {

using test::Bytes;
using test::Canonical;
using test::LoadBytes;
using test::TestFile;

TEST(PprofReader, ReadsEveryFormTheSame) {
  const auto plain = LoadBytes(TestFile("pprof/forms/packed.pb"));
  ASSERT_TRUE(plain.has_value());
  const std::string wanted = Canonical(*plain);
  EXPECT_THAT(wanted, testing::HasSubstr("8589934592"));
  std::size_t forms = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::TestFolder("pprof/forms"))) {
    const std::string name = entry.path().filename();
    if (name.find(".pb") == std::string::npos) {
      continue;
    }
    const auto recording = LoadBytes(test::ReadFile(entry.path()));
    ASSERT_TRUE(recording.has_value()) << name << ": " << recording.error().message;
    EXPECT_EQ(Canonical(*recording), wanted) << name;
    EXPECT_TRUE(recording->diagnostics.empty()) << name;
    ++forms;
  }
  EXPECT_EQ(forms, 13U);
}

TEST(PprofReader, ReadsTheSameFromATrickle) {
  for (const char* name :
       {"pprof/forms/packed.pb", "pprof/forms/types_last.pb", "pprof/jax_leak/memory9.prof"}) {
    const Bytes bytes = TestFile(name);
    const auto whole = LoadBytes(bytes);
    ASSERT_TRUE(whole.has_value());
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{100}}) {
      const auto pieces = OpenRecording(test::Trickle(bytes, step), "test", {});
      ASSERT_TRUE(pieces.has_value());
      EXPECT_EQ(Canonical(*pieces), Canonical(*whole));
    }
  }
}

TEST(PprofReader, ReadsFieldsOfAJaxProfile) {
  const auto recording = LoadBytes(TestFile("pprof/jax_leak/memory9.prof"));
  ASSERT_TRUE(recording.has_value());
  EXPECT_EQ(recording->metadata.format, "pprof");
  EXPECT_EQ(recording->metadata.packing, "gzip");
  EXPECT_EQ(recording->metadata.format_display, "JAX device memory profile (pprof)");
  const Profile& profile = *recording->profile;
  ASSERT_EQ(profile.types.size(), 2U);
  EXPECT_EQ(profile.types[0].role, Role::kCount);
  EXPECT_EQ(profile.types[1].role, Role::kBytes);
  EXPECT_EQ(profile.unknown_size.size(), 3U);
  EXPECT_FALSE(recording->blind_spots.empty());
  FilterOptions app;
  EXPECT_THAT(test::Top(*recording, "function", app),
              testing::ElementsAre("afunction 4000000 4000000", "anotherfunc 1800000 1800000",
                                   "<module> 0 5800000"));
}

// What was summed while reading is what summing gives, for every type and filter.
TEST(PprofReader, SumsAsItReads) {
  for (const char* name : {"pprof/jax_leak/memory9.prof", "pprof/forms/packed.pb"}) {
    const auto read = LoadBytes(TestFile(name));
    ASSERT_TRUE(read.has_value()) << name;
    EXPECT_EQ(read->profile->sums.size(), read->profile->types.size());
    auto again = RecordingBuilder(*read).Finish();
    ASSERT_TRUE(again.has_value());
    EXPECT_TRUE(again->profile->sums.empty());
    for (const char* tag : {"", "kind=buffer"}) {
      FilterOptions options;
      options.tag_focus = tag;
      const Filter filter = *Filter::Compile(options);
      const View view(*read, filter);
      const View plain(*again, filter);
      for (std::size_t type = 0; type < read->profile->types.size(); ++type) {
        for (const double scale : {1.0, 0.5}) {
          const ValueChoice choice = *ChooseValue(*read, std::to_string(type));
          const StackSums sums = SumByStack(view, choice, scale);
          const StackSums expected = SumByStack(plain, choice, scale);
          const auto tie = [](const StackSums& s) {
            return std::tuple(s.total, s.total_abs, s.unknown, s.magnitude, s.saturated,
                              s.counts_saturated, s.rows.size());
          };
          EXPECT_EQ(tie(sums), tie(expected)) << name << " " << type << " " << tag;
          EXPECT_TRUE(std::equal(sums.rows.begin(), sums.rows.end(), expected.rows.begin(),
                                 [](const StackSum& a, const StackSum& b) {
                                   return a.stack == b.stack && a.group == b.group &&
                                          a.value == b.value && a.unknown == b.unknown;
                                 }));
        }
      }
    }
  }
}

TEST(PprofReader, RefusesEveryMalformedFileForItsReason) {
  std::ifstream manifest(test::TestFolder("pprof/malformed") / "manifest.tsv");
  std::size_t files = 0;
  for (std::string line; std::getline(manifest, line);) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    const std::string name = line.substr(0, tab);
    const auto recording = LoadBytes(TestFile("pprof/malformed/" + name));
    ASSERT_FALSE(recording.has_value()) << name;
    EXPECT_EQ(recording.error().input, "test");
    const std::regex reason(line.substr(tab + 1), std::regex::icase);
    EXPECT_TRUE(std::regex_search(ToString(recording.error()), reason))
        << name << ": " << ToString(recording.error());
    ++files;
  }
  EXPECT_GT(files, 50U);
}

// Found by fuzzing: with a length, field number 0 was read as a string.
TEST(PprofReader, NoFieldHasTheNumber0) {
  Bytes bytes = TestFile("pprof/forms/packed.pb");
  const std::size_t end = bytes.size();
  bytes.push_back(std::byte{0x02});
  bytes.push_back(std::byte{0x00});
  const auto recording = LoadBytes(bytes);
  ASSERT_FALSE(recording.has_value());
  EXPECT_EQ(recording.error().code, ErrorCode::kMalformed);
  EXPECT_EQ(recording.error().offset, end);
}

TEST(PprofReader, ReadsAroundUnknownMappings) {
  const auto recording = LoadBytes(TestFile("pprof/malformed/unknown_mapping.pb"));
  ASSERT_TRUE(recording.has_value());
  ASSERT_EQ(recording->diagnostics.size(), 1U);
  EXPECT_EQ(recording->diagnostics[0].severity, Severity::kDamage);
  EXPECT_EQ(recording->diagnostics[0].code, "unknown_mapping");
}

TEST(PprofReader, NoticesACutAtEveryByteOfAContainer) {
  for (const char* name : {"pprof/forms/packed.pb.gz", "pprof/forms/packed.pb.zz",
                           "pprof/forms/packed.pb.zst", "pprof/jax_leak/memory1.prof"}) {
    const Bytes whole = TestFile(name);
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      const auto recording = LoadBytes(std::span(whole).first(cut));
      EXPECT_FALSE(recording.has_value()) << name << " cut at " << cut;
    }
  }
}

// Bare protobuf does not say where it ends: a cut between two fields leaves a valid profile when
// nothing that is left needs what is cut off (strings of comments, comments, times). A cut inside a
// field, or before the string table, is an error.
TEST(PprofReader, NoticesACutAtEveryByteOfABareMessage) {
  const Bytes whole = TestFile("pprof/forms/packed.pb");
  std::vector<char> may_end(whole.size() + 1, 0);
  bool strings_seen = false;
  for (ByteCursor cursor(whole, 0); !cursor.done();) {
    strings_seen = wire::Next(cursor).number == 6 || strings_seen;
    may_end[cursor.offset()] = static_cast<char>(strings_seen);
  }
  std::size_t legal = 0;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const auto recording = LoadBytes(std::span(whole).first(cut));
    EXPECT_TRUE(!recording || may_end[cut] != 0) << "cut at " << cut;
    legal += recording ? 1 : 0;
  }
  EXPECT_LT(legal, 12U);
}

TEST(PprofReader, SurvivesFlippedBits) {
  std::mt19937 random(20240607);
  std::size_t read = 0;
  for (const char* name : {"pprof/forms/packed.pb", "pprof/forms/mixed_split_packed.pb",
                           "pprof/forms/reversed_order.pb", "pprof/forms/unknown_fields.pb"}) {
    const Bytes whole = TestFile(name);
    OpenOptions options;
    options.format = "pprof";
    for (int round = 0; round < 5000; ++round) {
      Bytes bytes = whole;
      for (std::uint32_t flips = 0; flips <= random() % 4; ++flips) {
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << random() % 8);
      }
      const auto recording = LoadBytes(bytes, options);
      if (!recording) {
        EXPECT_FALSE(recording.error().message.empty());
        continue;
      }
      ++read;
      (void)test::Top(*recording, "line");
      (void)test::Top(*recording, "size");
    }
  }
  EXPECT_GT(read, 1000U);  // many flips only change a number or a name
}

TEST(PprofReader, KeepsToItsLimits) {
  const Bytes bytes = TestFile("pprof/forms/packed.pb");
  for (const char* name : {"record-bytes", "string-bytes", "samples"}) {
    OpenOptions options;
    ASSERT_TRUE(SetLimit(options.limits, name, 3).has_value());
    const auto recording = LoadBytes(bytes, options);
    ASSERT_FALSE(recording.has_value()) << name;
    EXPECT_EQ(recording.error().code, ErrorCode::kLimit) << name;
    EXPECT_THAT(recording.error().hint, testing::HasSubstr(std::string("--max ") + name));
  }
}

TEST(PprofReader, SurvivesValuesAtTheEndsOfInt64) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t value : {kMin, std::numeric_limits<std::int64_t>::max(), kMin + 1}) {
    const Recording recording = test::ProfileMaker()
                                    .Sample("main;f", {value, value}, "kind=executable")
                                    .Sample("main;g", {value, kMin}, "kind=buffer")
                                    .Finish();
    for (const char* by : {"function", "stack", "size", "tag"}) {
      (void)test::Top(recording, by);
    }
  }
}

}  // namespace
}  // namespace memtool::formats
