#include "kineto/kineto_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "kineto/trace_events.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/byte_cursor.h"
#include "support/code_stacks.h"
#include "support/read_error.h"

namespace memtool::formats {

namespace {

using kineto::MemoryEvent;
using kineto::TraceEvents;

constexpr std::size_t kMaxDevices = 250;  // an event names its domain with one byte

// The stack around each memory event, by its row; none where no span is open.
std::vector<StackId> GetStacks(const std::vector<MemoryEvent>& memory, CodeStacks& code) {
  std::vector<CodeInstant> instants;
  instants.reserve(memory.size());
  for (const MemoryEvent& event : memory) {
    instants.push_back({.time = event.time, .thread = event.thread});
  }
  std::vector<StackId> stacks;
  stacks.reserve(memory.size());
  for (const std::uint32_t node : code.Around(instants)) {
    stacks.push_back(code.GetStack(node));
  }
  return stacks;
}

// What a trace means: the memory events of each device in the order of their times.
class HistoryMaker {
 public:
  HistoryMaker(RecordingBuilder& builder, const TraceEvents& trace)
      : builder_(builder), trace_(trace) {
    history_.streams = {0};
  }

  History Make(const std::vector<StackId>& stacks) {
    std::map<std::int64_t, std::vector<std::uint32_t>> rows;  // devices first, then the CPU
    for (std::uint32_t row = 0; row < trace_.memory.size(); ++row) {
      const std::int32_t device = trace_.memory[row].device;
      rows[device < 0 ? std::numeric_limits<std::int32_t>::max() : device].push_back(row);
    }
    if (rows.size() > kMaxDevices) {
      ThrowRead(ErrorCode::kLimit, 0, {}, fmt::format("memory of {} devices", rows.size()));
    }
    for (auto& [device, of_device] : rows) {
      std::stable_sort(of_device.begin(), of_device.end(), [this](auto a, auto b) {
        return trace_.memory[a].time < trace_.memory[b].time;
      });
      AddTrace(of_device, stacks);
    }
    for (const kineto::Step& step : trace_.steps) {
      history_.marks.push_back(
          {.name = step.name, .begin = GetTime(step.begin), .end = GetTime(step.end)});
    }
    for (const std::int64_t time : trace_.out_of_memory) {
      history_.marks.push_back({.name = "OutOfMemory", .begin = GetTime(time)});
    }
    std::stable_sort(history_.marks.begin(), history_.marks.end(),
                     [](const Mark& a, const Mark& b) { return a.begin < b.begin; });
    // Times before 2001 come from a clock that starts at boot.
    constexpr std::int64_t kUnix = 978'307'200'000'000'000;
    const bool since_1970 = !history_.events.empty() && history_.events.front().time > kUnix;
    history_.clock = since_1970 ? Clock::kUnix : Clock::kRelative;
    return std::move(history_);
  }

  // What the totals of the events say otherwise than their sizes.
  void AddDamage() const {
    builder_.AddDiagnostic(
        Severity::kDamage, "totals_disagree",
        "moments at which the device's Total Allocated is not what the sizes of "
        "memory events make of the total before: live bytes are wrong from there",
        disagreements_);
    builder_.AddDiagnostic(
        Severity::kDamage, "reserved_below_live",
        "devices with more bytes live than Total Reserved says: what is reserved "
        "is left out",
        without_reserved_);
  }

 private:
  using Rows = std::vector<std::uint32_t>;

  [[nodiscard]] std::int64_t GetTime(std::int64_t time) const {
    return SaturatingAdd(trace_.base_time, time);
  }

  void AddTrace(const Rows& rows, const std::vector<StackId>& stacks) {
    const std::int32_t device = trace_.memory[rows.front()].device;
    const bool cpu = device < 0;
    const DomainId domain(history_.domains.size());
    history_.domains.push_back(
        {.name = "blocks", .device = device, .kind = cpu ? DomainKind::kCpu : DomainKind::kDevice});
    domain_ = static_cast<std::uint8_t>(domain.value());
    Trace trace{.device = device,
                .name = cpu ? "cpu" : std::to_string(device),
                .first_event = history_.events.size(),
                .blocks = domain,
                .segments = domain};
    bool reserved = !cpu;
    if (!cpu) {
      const std::int64_t freed = SetBase(rows, trace);
      reserved = CheckTotals(rows, SaturatingAdd(trace.preexisting_bytes, freed));
      trace.preexisting_reserved = reserved ? trace.preexisting_reserved : 0;
      without_reserved_ += reserved ? 0 : 1;
    }
    reserved_ = trace.preexisting_reserved;
    for (const std::uint32_t row : rows) {
      const MemoryEvent& event = trace_.memory[row];
      if (reserved && event.reserved >= 0) {
        AddReserved(event);
      }
      Add(BuildEvent(event, stacks[row]), event.thread);
    }
    trace.event_count = history_.events.size() - trace.first_event;
    history_.traces.push_back(std::move(trace));
  }

  [[nodiscard]] Event BuildEvent(const MemoryEvent& event, StackId stack) const {
    Event made{.key = event.address,
               .size = event.bytes,
               .time = GetTime(event.time),
               .stack = stack,
               .action = Action::kAdjust};
    if (event.failed) {
      made.key = kUnknownBytes;  // what the driver had free
      made.action = Action::kOom;
    } else if (event.address != 0) {
      made.size = Magnitude(event.bytes);
      made.action = event.bytes < 0 ? Action::kFreeCompleted : Action::kAlloc;
    }
    return made;
  }

  // What was allocated before the trace and is still there at its end is in no event: the totals
  // after an event tell its sum. What the trace frees of earlier memory is known from those frees,
  // whose sum is returned.
  std::int64_t SetBase(const Rows& rows, Trace& trace) const {
    KeySet<std::uint64_t> live;
    std::int64_t changed = 0;  // by the events so far
    std::int64_t freed = 0;    // of earlier memory
    std::optional<std::int64_t> base;
    std::optional<std::int64_t> reserved;
    for (const std::uint32_t row : rows) {
      const MemoryEvent& event = trace_.memory[row];
      if (!event.failed) {
        changed = SaturatingAdd(changed, event.bytes);
      }
      if (!event.failed && event.address != 0) {
        if (event.bytes >= 0) {
          live.insert(event.address);
        } else if (live.erase(event.address) == 0) {
          freed = SaturatingSubtract(freed, event.bytes);
        }
      }
      if (!base && event.allocated >= 0) {
        base = SaturatingSubtract(event.allocated, changed);
      }
      if (!reserved && event.reserved >= 0) {
        reserved = event.reserved;  // the trace does not tell whether the event itself changed it
      }
    }
    trace.preexisting_bytes =
        std::max<std::int64_t>(SaturatingSubtract(base.value_or(0), freed), 0);
    trace.preexisting_reserved = reserved.value_or(0);
    return freed;
  }

  // The allocator counts itself what is in use. Events of one moment may be listed in any order, so
  // that moments are compared, not events. False where more is live than reserved at one.
  bool CheckTotals(const Rows& rows, std::int64_t live) {
    bool fits = true;
    std::optional<std::int64_t> total;
    for (auto at = rows.begin(); at != rows.end();) {
      const std::int64_t time = trace_.memory[*at].time;
      std::int64_t change = 0;
      std::int64_t reserved = -1;
      std::vector<std::int64_t> counted;
      for (; at != rows.end() && trace_.memory[*at].time == time; ++at) {
        const MemoryEvent& event = trace_.memory[*at];
        change = SaturatingAdd(change, event.failed ? 0 : event.bytes);
        reserved = std::max(reserved, event.reserved);
        if (event.allocated >= 0) {
          counted.push_back(event.allocated);
        }
      }
      live = SaturatingAdd(live, change);
      fits = fits && (reserved < 0 || live <= reserved);
      if (total) {
        total = SaturatingAdd(*total, change);
      }
      if (!counted.empty() && std::find(counted.begin(), counted.end(), total) == counted.end()) {
        disagreements_ += total ? 1 : 0;
        total = counted.back();
      }
    }
    return fits;
  }

  void AddReserved(const MemoryEvent& event) {
    if (event.reserved == reserved_) {
      return;
    }
    const bool more = event.reserved > reserved_;
    Add({.key = 0,
         .size = Magnitude(SaturatingSubtract(event.reserved, reserved_)),
         .time = GetTime(event.time),
         .stack = {},
         .action = more ? Action::kSegmentAlloc : Action::kSegmentFree},
        event.thread);
    reserved_ = event.reserved;
  }

  void Add(Event event, std::uint32_t thread) {
    event.domain = domain_;
    history_.events.push_back(event);
    auto [it, added] = thread_labels_.emplace(thread, LabelSetId{});
    if (added) {
      const Label label{.key = builder_.Intern("thread"),
                        .text = builder_.Intern(trace_.threads[thread]),
                        .unit = StringId(0U)};
      it->second = builder_.InternLabels(std::span(&label, 1));
    }
    history_.labels.push_back(it->second);
  }

  RecordingBuilder& builder_;
  const TraceEvents& trace_;
  History history_;
  std::uint8_t domain_ = 0;
  std::int64_t reserved_ = 0;
  std::uint64_t disagreements_ = 0;
  std::uint64_t without_reserved_ = 0;
  std::map<std::uint32_t, LabelSetId> thread_labels_;
};

void AddNotes(RecordingBuilder& builder, const TraceEvents& trace, std::uint64_t cut) {
  builder.AddDiagnostic(Severity::kWarning, "bad_event",
                        "events without a usable time, length or size: left out", trace.bad_times);
  builder.AddDiagnostic(
      Severity::kNote, "no_address",
      "memory events without an address, as PyTorch 1.8 to 1.10 writes them: only "
      "their sums count",
      trace.without_address);
  if (trace.without_address == trace.memory.size()) {
    builder.AddBlindSpot("what a free ends, and so what is live",
                         "memory events have no address: PyTorch 1.11 and later writes it");
  }
  builder.AddDiagnostic(Severity::kNote, "deep_stack",
                        "stacks deeper than --max depth: outermost frames left out", cut);
  builder.AddBlindSpot("the allocator's segments and blocks", "a trace holds only their sums");
  if (trace.spans.empty()) {
    builder.AddBlindSpot("what allocated", "the trace has no operations and no Python functions");
  }
}

}  // namespace

Match KinetoReader::Sniff(std::span<const std::byte> head) const {
  const std::string_view text = AsText(head);
  const auto has = [text](std::string_view part) { return text.find(part) != text.npos; };
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) {
    return Match::kNo;
  }
  // Other programs' traces in this format have no such keys before their events.
  const bool kineto = has("\"traceEvents\"") && (has("\"schemaVersion\"") ||
                                                 has("\"deviceProperties\"") || has("\"Ev Idx\""));
  const bool events = has("\"cpu_instant_event\"") && has("\"[memory]\"");
  return kineto || events ? Match::kCertain : Match::kNo;
}

Result<Recording> KinetoReader::Read(ByteWindow& in, const Limits& limits) const {
  TraceEvents trace = kineto::ReadTraceEvents(in, limits);
  if (trace.memory.empty()) {
    return Fail(
        ErrorCode::kMalformed,
        fmt::format("a profiler trace without memory events ({} other events)", trace.events),
        "record it with torch.profiler.profile(profile_memory=True, with_stack=True)");
  }
  RecordingBuilder builder;
  builder.Intern({});
  builder.metadata().format = name();
  builder.metadata().format_display = "PyTorch profiler trace";
  builder.metadata().origin = {.framework = Framework::kPyTorch, .kind = RecordingKind::kTrace};
  CodeStacks code(
      builder, trace.spans,
      [&trace](std::uint32_t name) { return PlaceOfPythonCall(AsText(trace.names[name])); },
      limits.depth);
  const std::vector<StackId> stacks = GetStacks(trace.memory, code);
  HistoryMaker maker(builder, trace);
  builder.SetHistory(maker.Make(stacks));
  maker.AddDamage();
  AddNotes(builder, trace, code.cut());
  return std::move(builder).Finish();
}

}  // namespace memtool::formats
