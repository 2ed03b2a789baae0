#include "xplane/trace_json_reader.h"

#include <string_view>
#include <utility>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/source.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/byte_cursor.h"
#include "xplane/trace_json.h"
#include "xplane/xplane_reader.h"

namespace memtool::formats {

namespace {

// The profiler writes so many events into this form at most, by its age, and leaves out all after
// one moment; those at that moment may be a few more. Nothing in a file says so.
bool MayBeCut(std::uint64_t events) {
  constexpr std::uint64_t kOlder = 1'000'000;
  constexpr std::uint64_t kNewer = 5'000'000;
  constexpr std::uint64_t kMore = 1'000;
  return (events >= kOlder && events < kOlder + kMore) ||
         (events >= kNewer && events < kNewer + kMore);
}

constexpr std::string_view kBetter = "the *.xplane.pb beside it holds all that the profiler knows";

}  // namespace

// Chrome's trace events of a profiler that names its processes after planes. PyTorch's traces are
// of the same form, with keys of their own (kineto/).
Match TraceJsonReader::Sniff(std::span<const std::byte> head) const {
  const std::string_view text = AsText(head);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const auto has = [text](std::string_view part) { return text.find(part) != text.npos; };
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) {
    return Match::kNo;
  }
  const bool planes = has("\"/host:") || has("\"/device:");
  return has("\"traceEvents\"") && (has("\"highres-ticks\"") || planes) &&
                 !has("\"schemaVersion\"") && !has("\"deviceProperties\"")
             ? Match::kCertain
             : Match::kNo;
}

Result<Recording> TraceJsonReader::Read(ByteWindow& in, const Limits& limits) const {
  const xplane::TraceJson trace = xplane::ReadTraceJson(in, limits);
  ByteWindow space(MakeMemorySource(trace.space));
  auto read = XplaneReader().Read(space, limits);
  if (!read) {
    Error error = read.error();
    // What a device never writes is in no form.
    if (!error.hint.starts_with("TPUs")) {
      error.hint = kBetter;
    }
    return Fail(std::move(error));
  }
  RecordingBuilder builder(*std::move(read));
  builder.metadata().format = name();
  builder.metadata().format_display = builder.metadata().origin.framework == Framework::kJax
                                          ? "JAX profiler trace (JSON)"
                                          : "profiler trace of XLA (JSON)";
  builder.AddBlindSpot("the compiler's buffers, the device's memory, flows between threads",
                       std::string("this form leaves them out: ") + std::string(kBetter));
  if (trace.bad_events > 0) {
    builder.AddDiagnostic({.severity = Severity::kWarning,
                           .code = "bad_event",
                           .message = "events without a usable name or time: left out",
                           .count = trace.bad_events});
  }
  if (MayBeCut(trace.events)) {
    builder.AddDiagnostic({.severity = Severity::kWarning,
                           .code = "events_dropped",
                           .message =
                               "as many events as the profiler writes into this form: it may "
                               "have left out all after the last"});
  }
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
