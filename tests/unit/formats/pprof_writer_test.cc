#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "memtool/formats/writer.h"
#include "memtool/profile/model/recording_builder.h"
#include "profile.pb.h"
#include "support/files.h"
#include "support/make_profile.h"

namespace memtool::formats {
namespace {

using test::Canonical;
using test::LoadBytes;
using test::TestFile;
using test::ToBytes;

// By zlib, not by the project's own unpacking.
std::string Gunzip(const std::string& packed) {
  std::string bytes;
  z_stream stream{};
  EXPECT_EQ(::inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
  std::string input = packed;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  int status = Z_OK;
  while (status == Z_OK) {
    std::array<char, 4096> part{};
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    status = ::inflate(&stream, Z_NO_FLUSH);
    bytes.append(part.data(), part.size() - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END);
  ::inflateEnd(&stream);
  return bytes;
}

Recording Again(const Recording& recording) {
  const auto written = WriteAs("pprof", recording);
  EXPECT_TRUE(written.has_value());
  auto read = LoadBytes(ToBytes(*written));
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return *std::move(read);
}

TEST(PprofWriter, WritesWhatTheReaderReads) {
  for (const char* name :
       {"pprof/forms/packed.pb", "pprof/forms/sparse_ids.pb", "pprof/jax_leak/memory9.prof",
        "pprof/jax_funcs/memory.prof", "pprof/hostile/names.pb.gz"}) {
    const auto recording = LoadBytes(TestFile(name));
    ASSERT_TRUE(recording.has_value());
    const Recording again = Again(*recording);
    EXPECT_EQ(Canonical(again), Canonical(*recording)) << name;
    EXPECT_EQ(again.profile->unknown_size, recording->profile->unknown_size);
  }
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    const Recording recording = test::RandomProfile(seed);
    EXPECT_EQ(Canonical(Again(recording)), Canonical(recording)) << seed;
  }
}

// A profile is written in pieces; protobuf, which reads it as one message, would write the same.
TEST(PprofWriter, PiecesAreOneMessage) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    RecordingBuilder builder(test::RandomProfile(seed));
    for (int i = 0; i < 1'000; ++i) {
      const std::size_t row = static_cast<std::size_t>(i) % builder.samples().size();
      std::vector<std::int64_t> values;
      for (const auto& column : builder.samples().values) {
        values.push_back(column[row] + i);
      }
      builder.AddSample(builder.samples().stacks[row], builder.samples().label_sets[row], values);
    }
    const Recording recording = *std::move(builder).Finish();
    const std::string written = *WriteAs("pprof", recording);
    const std::string message = Gunzip(written);
    memtool::pprof::Profile profile;
    ASSERT_TRUE(profile.ParseFromString(message));
    EXPECT_EQ(profile.sample_size(), static_cast<int>(recording.profile->size()));
    EXPECT_EQ(profile.SerializeAsString(), message);
  }
}

TEST(PprofWriter, IsUnderstoodByProtobuf) {
  const auto recording = LoadBytes(TestFile("pprof/forms/packed.pb"));
  ASSERT_TRUE(recording.has_value());
  const std::string written = *WriteAs("pprof", *recording);
  memtool::pprof::Profile profile;
  ASSERT_TRUE(profile.ParseFromString(Gunzip(written)));
  EXPECT_EQ(profile.string_table(0), "");
  const auto text = [&profile](std::int64_t index) {
    return profile.string_table(static_cast<int>(index));
  };
  ASSERT_EQ(profile.sample_type_size(), 3);
  EXPECT_EQ(text(profile.sample_type(1).type()), "requested");
  EXPECT_EQ(text(profile.default_sample_type()), "requested");
  ASSERT_EQ(profile.sample_size(), 9);
  EXPECT_THAT(profile.sample(0).value(), testing::ElementsAre(3, 300, 384));
  EXPECT_EQ(profile.sample(0).location_id_size(), 2);
  EXPECT_EQ(profile.sample(2).label_size(), 3);
  EXPECT_EQ(profile.sample(2).label(2).num(), 8);
  EXPECT_EQ(text(profile.sample(2).label(2).num_unit()), "bytes");
  EXPECT_EQ(profile.location_size(), 9);
  EXPECT_EQ(profile.location(2).line_size(), 3);
  EXPECT_EQ(profile.location(6).line_size(), 0);
  EXPECT_EQ(profile.mapping_size(), 2);
  EXPECT_TRUE(profile.mapping(0).has_inline_frames());
  EXPECT_EQ(profile.comment_size(), 3);
  EXPECT_EQ(profile.period(), 524288);
}

TEST(PprofReader, ReadsWhatProtobufWrites) {
  memtool::pprof::Profile profile;
  for (const char* text :
       {"", "space", "bytes", "main", "main.py", "key", "value", "https://doc"}) {
    profile.add_string_table(text);
  }
  auto& type = *profile.add_sample_type();
  type.set_type(1);
  type.set_unit(2);
  auto& function = *profile.add_function();
  function.set_id(7);
  function.set_name(3);
  function.set_system_name(3);
  function.set_filename(4);
  function.set_start_line(-1);
  auto& location = *profile.add_location();
  location.set_id(~0ULL);
  location.set_is_folded(true);
  auto& line = *location.add_line();
  line.set_function_id(7);
  line.set_line(-5);
  line.set_column(12);
  auto& sample = *profile.add_sample();
  sample.add_location_id(~0ULL);
  sample.add_value(std::numeric_limits<std::int64_t>::min());
  auto& label = *sample.add_label();
  label.set_key(5);
  label.set_str(6);
  profile.set_doc_url(7);
  profile.set_time_nanos(-1);
  const auto recording = LoadBytes(ToBytes(profile.SerializeAsString()));
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  EXPECT_EQ(recording->profile->values[0][0], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(recording->functions[0].start_line, -1);
  EXPECT_EQ(recording->lines[0].line, -5);
  EXPECT_EQ(recording->lines[0].column, 12);
  EXPECT_TRUE(recording->locations[0].folded);
  EXPECT_EQ(recording->Text(recording->metadata.doc_url), "https://doc");
  EXPECT_EQ(recording->metadata.time_nanos, -1);
  EXPECT_EQ(Canonical(Again(*recording)), Canonical(*recording));
}

TEST(PprofWriter, NeedsSamples) {
  const Recording none = *RecordingBuilder().Finish();
  EXPECT_EQ(WriteAs("pprof", none).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace memtool::formats
