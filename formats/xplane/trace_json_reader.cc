#include "xplane/trace_json_reader.h"

#include <string>
#include <string_view>
#include <utility>

#include "memtool/formats/byte_window.h"
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
  xplane::TraceJson trace = xplane::ReadTraceJson(in, limits);
  RecordingBuilder builder;
  builder.metadata().format = name();
  if (auto added = xplane::AddSpace(std::move(trace.space), limits, builder); !added) {
    Error error = std::move(added).error();
    // What a device never writes is in no form.
    if (!error.hint.starts_with("TPUs")) {
      error.hint = kBetter;
    }
    return Fail(std::move(error));
  }
  builder.metadata().format_display = builder.metadata().origin.framework == Framework::kJax
                                          ? "JAX profiler trace (JSON)"
                                          : "profiler trace of XLA (JSON)";
  builder.AddBlindSpot("the compiler's buffers, the device's memory, flows between threads",
                       std::string("this form leaves them out: ") + std::string(kBetter));
  builder.AddDiagnostic(Severity::kWarning, "bad_event",
                        "events without a usable name or time: left out", trace.bad_events);
  builder.AddDiagnostic(Severity::kWarning, "events_dropped",
                        "as many events as the profiler writes into this form: it may have left "
                        "out all after the last",
                        MayBeCut(trace.events) ? 1 : 0);
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
