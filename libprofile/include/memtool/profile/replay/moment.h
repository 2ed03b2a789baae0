// A moment of a history, by name, and the event that it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {

struct MomentSpec {  // NOLINT(clang-analyzer-optin.performance.Padding): in order of meaning
  enum class Kind : std::uint8_t {
    kEnd,
    kStart,
    kPeak,  // each trace at its own
    kPeakReserved,
    kJobPeak,  // the sum of all traces at its highest, by the common clock
    kOom,
    kOomOrPeak,  // each trace at its last out-of-memory event, or, without one, at its peak
    kEvent,
    kTime,  // seconds after the first event, or since the epoch
    kMark,
    kStep,  // where a step begins: by the marks of profilers, else where PlaceStep found it
  };
  Kind kind = Kind::kEnd;
  std::int64_t index =
      -1;  // kOom, kMark, kStep: which one, negative from the end; kEvent: entry number
  bool indexed = false;                // an index was given
  std::int64_t nanos = 0;              // kTime
  bool epoch = false;                  // kTime: since the epoch
  std::string name;                    // kMark
  bool mark_end = false;               // kMark: its end instead of its beginning
  std::vector<std::int64_t> placed{};  // kStep: the event per row of History::traces
  std::string text;                    // in its usual spelling, for headers
  std::string option = "--at";         // what errors call it

  friend bool operator==(const MomentSpec&, const MomentSpec&) = default;
};

// end, start, peak, peak:reserved, job-peak, oom[:K], oom-or-peak, event:N, time:12.5s,
// time:@EPOCH, mark:NAME[#K][:end], step:K; a number alone is an event, and what stands before the
// colon may be in upper case. Errors: kUsage, which begin with `option`.
Result<MomentSpec> ParseMoment(std::string_view text, std::string_view option = "--at");

// The moment that is looked at unless another one is asked for, because most questions are about
// it: where memory ran out, else the peak; of a compiler's plan the peak. What has no events has
// only its end.
MomentSpec DefaultMoment(const Recording& recording);

// `spec` as what it is of these traces: kOomOrPeak becomes kOom or kPeak where all agree.
MomentSpec AgreedMoment(MomentSpec spec, const HistoryIndex& index,
                        std::span<const std::size_t> traces);

// The last event of `trace` that has happened at the moment (-1 = none). Errors: kUsage, with a
// helpful sentence, when the trace has no such moment.
Result<std::int64_t> ResolveMoment(const HistoryIndex& index, const Trace& trace,
                                   const MomentSpec& spec);

// A part of a history, by its ends.
struct MomentRange {
  MomentSpec from{.kind = MomentSpec::Kind::kStart, .text = "start", .option = "--from"};
  MomentSpec to{.text = "end", .option = "--to"};
};

// From the state after event `first` (-1 = the base) to the one after event `last`.
struct StateSpan {
  std::int64_t first = -1;
  std::int64_t last = -1;
};

// Errors: those of ResolveMoment; kUsage when the range ends before it begins.
Result<StateSpan> ResolveRange(const HistoryIndex& index, const Trace& trace,
                               const MomentRange& range);

// "device 0", or the trace's name when that is more than a number.
std::string TraceText(const Trace& trace);

// The traces of a history that commands look at: those of `device`, or, when it is empty, all but
// those that would count bytes twice or are on no device. A caller's own domains
// (DomainLevel::kUser) lie within the driver's, and what is another trace's MemoryDomain::parent
// holds that one's bytes: both are selected by their whole name only; a CPU's
// (DomainKind::kCpu) count when there is nothing else. Errors: kUsage for a device that does not
// exist.
Result<std::vector<std::size_t>> GetTraces(const Recording& recording, std::string_view device);

// "cuda:0, cuda:1": the names of a history's traces, for messages.
std::string TraceNames(const Recording& recording);

}  // namespace memtool
