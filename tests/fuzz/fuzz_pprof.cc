// The pprof reader alone, on unpacked bytes. What it accepts must survive being written and read,
// and libprotobuf must read the same from the same bytes.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/protobuf_profile.h"
#include "common/reading.h"
#include "common/recording_text.h"
#include "memtool/formats/open.h"
#include "memtool/formats/writer.h"
#include "targets.h"

namespace {

using namespace memtool;
using namespace memtool::fuzz;

// Where both read, the sums are the same; what only one reads has a reason that is written down.
void Compare(const Result<Recording>& ours, std::span<const std::byte> bytes) {
  const ProtobufProfile theirs = ReadByProtobuf(bytes);
  if (!ours) {
    const bool limit = ours.error().code == ErrorCode::kLimit;
    Require(limit || !theirs.text || theirs.stricter, "libprotobuf reads what we refuse");
    return;
  }
  Require(theirs.text.has_value() || theirs.looser, "we read what libprotobuf refuses");
  if (theirs.text && !theirs.stricter) {
    RequireEqual(SamplesText(*ours), *theirs.text, "libprotobuf reads other samples");
  }
}

}  // namespace

int memtool::fuzz::FuzzPprof(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto recording = ReadAs("pprof", bytes);
  Compare(recording, bytes);
  if (!recording) {
    return 0;
  }
  const auto written = formats::WriteAs("pprof", *recording);
  Require(written.has_value(), "what was read cannot be written");
  // A profile without sample types may be indistinguishable from other bytes; this one was read by
  // the format's name.
  const auto again = formats::OpenRecording(formats::MakeMemorySource(GetBytes(*written)), "again",
                                            {.limits = {}, .format = "pprof"});
  Require(again.has_value(), "what was written cannot be read");
  RequireEqual(SamplesText(*recording), SamplesText(*again), "writing changed the samples");
  return 0;
}
