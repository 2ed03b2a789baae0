#include "common/round_trip.h"

#include <rapidjson/document.h>

#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/reading.h"
#include "common/recording_text.h"
#include "common/strict_text.h"
#include "memtool/formats/open.h"
#include "memtool/formats/writer.h"
#include "memtool/profile/select/selection.h"
#include "memtool/profile/select/value_choice.h"

namespace memtool::fuzz {

namespace {

std::vector<std::uint64_t> Sums(const Profile& profile) {
  std::vector<std::uint64_t> sums;
  for (const auto& column : profile.values) {
    std::uint64_t& sum = sums.emplace_back(0);
    for (const std::int64_t value : column) {
      sum += static_cast<std::uint64_t>(value);
    }
  }
  return sums;
}

}  // namespace

void RequireProfileReturns(const Recording& recording) {
  const auto written = formats::WriteAs("pprof", recording);
  Require(written.has_value(), "samples cannot be written as pprof");
  const auto again = formats::OpenRecording(formats::MakeMemorySource(GetBytes(*written)), "again",
                                            {.limits = {}, .format = "pprof"});
  Require(again.has_value(), "what was written as pprof cannot be read: " +
                                 (again ? std::string() : ToString(again.error())));
  RequireEqual(SamplesText(recording), SamplesText(*again), "pprof changed the samples");
}

void RequireSnapshotReturns(const Recording& recording) {
  const auto written = formats::WriteAs("torch_snapshot", recording);
  if (!written) {
    Require(written.error().code == ErrorCode::kUnsupported, "a snapshot cannot be written");
    return;
  }
  const auto again = ReadAs("torch_snapshot", GetBytes(*written));
  Require(again.has_value(), again ? "" : "a written snapshot: " + ToString(again.error()));
  RequireEqual(DeviceEventsText(recording), DeviceEventsText(*again), "a snapshot lost events");
  // Writing changes what only some versions write once; what was written once never changes.
  const auto second = formats::WriteAs("torch_snapshot", *again);
  Require(second.has_value(), "a snapshot that was written cannot be written again");
  const auto last = ReadAs("torch_snapshot", GetBytes(*second));
  Require(last.has_value(), "a snapshot that was written twice cannot be read");
  RequireEqual(HistoryText(*again), HistoryText(*last), "writing changed what was written");
}

void RequireContainerReturns(const Recording& recording) {
  const auto written = formats::WriteAs("memtool", recording);
  Require(written.has_value(), "a recording cannot be written as memtool's container");
  const auto again = ReadAs("memtool", GetBytes(*written), {});
  Require(again.has_value(), "what was written as memtool's container cannot be read");
  RequireEqual(HistoryText(recording), HistoryText(*again), "the container changed the history");
  RequireEqual(SamplesText(recording), SamplesText(*again), "the container changed the samples");
  RequireEqual(*written, *formats::WriteAs("memtool", *again), "the container was not whole");
}

void RequireDumpSums(const Recording& recording) {
  const auto written = formats::WriteAs("json", recording);
  Require(written.has_value() && IsJson(*written), "the dump is no JSON");
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(written->data(), written->size());
  std::vector<std::uint64_t> sums(recording.profile->types.size());
  for (const auto& sample : document["samples"].GetArray()) {
    const auto& values = sample["values"];
    Require(values.Size() == sums.size(), "a sample of the dump lacks values");
    for (rapidjson::SizeType i = 0; i < values.Size(); ++i) {
      sums[i] += static_cast<std::uint64_t>(values[i].GetInt64());
    }
  }
  Require(sums == Sums(*recording.profile), "the dump sums to something else");
}

void RequireFoldedSums(const Recording& recording) {
  const auto choice = ChooseValue(recording, {});
  const auto written = formats::WriteAs("folded", recording);
  Require(choice.has_value() || !written.has_value(), "what has no such type is written");
  if (!written) {
    return;
  }
  std::uint64_t wanted = 0;  // of the samples, whatever the recording's history says
  ForEachSample(*recording.profile, *choice, [&wanted](const SampleValue& sample) {
    wanted += static_cast<std::uint64_t>(sample.value);
  });
  std::uint64_t sum = 0;
  for (std::string_view text = *written; !text.empty();) {
    const std::size_t end = text.find('\n');
    Require(end != std::string_view::npos, "folded: a line does not end");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::size_t space = line.rfind(' ');
    Require(space != std::string_view::npos, "folded: a line without a number");
    std::int64_t value = 0;
    const auto [last, error] =
        std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
    Require(error == std::errc{} && last == line.data() + line.size(), "folded: no number");
    sum += static_cast<std::uint64_t>(value);
  }
  Require(sum == wanted, "folded stacks sum to something else");
}

}  // namespace memtool::fuzz
