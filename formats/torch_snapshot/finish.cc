// The last step of building a snapshot: traces, domains, marks, settings, and what to say about it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "support/read_error.h"
#include "torch_snapshot/fixups/fixups.h"
#include "torch_snapshot/snapshot_builder.h"
#include "torch_snapshot/version_signatures.h"

namespace memtool::formats::torch_snapshot {

namespace {

// An event names its domain with one byte, and a trace has two domains.
constexpr std::size_t kMaxTraces = 127;

void Expect(const Value& value, ValueKind wanted, const char* name, std::uint64_t offset) {
  if (value.kind != wanted && value.kind != ValueKind::kEmptyList &&
      value.kind != ValueKind::kNone) {
    ThrowRead(ErrorCode::kMalformed, offset, name,
              fmt::format("is {} where {} belongs", KindName(value.kind), KindName(wanted)));
  }
}

}  // namespace

void SnapshotBuilder::ReadRoot(const Value& root, std::uint64_t offset) {
  if (root.kind == kind::kSegments || root.kind == ValueKind::kEmptyList) {
    parts_.segments = root;  // torch.cuda.memory_snapshot(), and PyTorch 1.x
  } else if (root.kind != kind::kSnapshot) {
    ThrowRead(ErrorCode::kMalformed, 0, {},
              fmt::format("holds {}, not a memory snapshot: there is no list of segments",
                          KindName(root.kind)),
              "a snapshot comes from torch.cuda.memory._dump_snapshot()");
  }
  Expect(parts_.segments, kind::kSegments, "segments", offset);
  Expect(parts_.host_segments, kind::kSegments, "host_segments", offset);
  Expect(parts_.traces, kind::kTraces, "device_traces", offset);
  Expect(parts_.annotations, kind::kAnnotations, "external_annotations", offset);
  if (parts_.host_traces.kind != kind::kEvents) {
    Expect(parts_.host_traces, kind::kTraces, "host_traces", offset);
  }
}

Result<Recording> SnapshotBuilder::Finish(const Value& root, std::uint64_t offset) {
  ReadRoot(root, offset);
  std::vector<StateTable::Run> runs;
  for (const bool host : {false, true}) {
    const Value& list = host ? parts_.host_segments : parts_.segments;
    if (list.kind == kind::kSegments) {
      runs.push_back({list.Low(), list.High(), host});
    }
  }
  state_.Finish(runs, context_.builder);
  const AllocatorState& state = *context_.builder.recording().state;
  History history;
  Settings();
  Comments();
  Traces(history, state);
  Marks(history);
  if (CountRequestsAsFrees(history, state)) {
    context_.notes.Add(
        Severity::kNote, "frees_without_completion",
        "traces without a single free_completed (skip_actions): a request to free counts "
        "as the free",
        0);
  }
  JoinAnnotations(history, context_.builder);
  history.streams = context_.streams.Take();
  const bool timed =
      events_.timed() || std::any_of(history.marks.begin(), history.marks.end(),
                                     [](const Mark& mark) { return mark.begin != kNoTime; });
  history.clock = timed ? Clock::kUnix : Clock::kAbsent;
  Describe(history);
  // Pages that draw a trace have no list of segments.
  const auto is_absent = [](const Value& part) { return part.kind == ValueKind::kNone; };
  if (is_absent(parts_.segments) && is_absent(parts_.host_segments) && !history.traces.empty()) {
    context_.builder.ClearState();
  }
  context_.notes.MoveTo(context_.builder);
  context_.builder.SetHistory(std::move(history));
  return std::move(context_.builder).Finish();
}

void SnapshotBuilder::Settings() {
  for (auto& [name, text] : opaque_values_.Leaves(parts_.settings)) {
    if (name == "graph_capture_record_stream_reuse") {
      context_.seen.bits |= Bit(Word::kGraphCaptureRecordStreamReuse);
    } else if (name == "trace_alloc_overflowed") {
      context_.seen.bits |= Bit(Word::kTraceAllocOverflowed);
    }
    context_.builder.AddSetting(std::move(name), std::move(text));
  }
  if (parts_.max_entries.kind != ValueKind::kNone) {
    context_.builder.AddSetting("trace_alloc_max_entries", opaque_values_.Line(parts_.max_entries));
  }
  WarnOfSettings();
}

void SnapshotBuilder::WarnOfSettings() {
  const auto& settings = context_.builder.recording().settings;
  const auto value = [&settings](std::string_view name) {
    const auto at = std::find_if(settings.begin(), settings.end(),
                                 [name](const Setting& one) { return one.name == name; });
    return at == settings.end() ? std::string_view() : std::string_view(at->value);
  };
  const std::string_view split = value("max_split_size");
  const bool divides = !split.empty() && split != "-1" && split != "0" && split.size() < 19;
  if (divides && value("expandable_segments") == "true") {
    context_.notes.Add(Severity::kNote, "settings_conflict",
                       "max_split_size_mb and expandable_segments are both set: reserved memory "
                       "can then grow without bound (pytorch issue 123548)",
                       0);
  }
}

namespace {

// What lies between `before` and `behind`; empty where they do not stand around anything.
std::string_view Between(std::string_view text, std::string_view before, std::string_view behind) {
  return text.size() > before.size() + behind.size() && text.starts_with(before) &&
                 text.ends_with(behind)
             ? text.substr(before.size(), text.size() - before.size() - behind.size())
             : std::string_view();
}

// Back ends by the code that allocates for them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kBackEnds{
    {{"torch_npu", "NPU"},
     {"NPUCachingAllocator", "NPU"},
     {"torch/xpu/", "XPU"},
     {"XPUCachingAllocator", "XPU"},
     {"torch_mlu", "MLU"},
     {"torch_musa", "MUSA"},
     {"torch/mtia/", "MTIA"},
     {"habana_frameworks", "HPU"}}};

std::string_view BackEndOfCode(const Recording& recording) {
  for (const Function& function : recording.functions) {
    for (const auto& [part, back_end] : kBackEnds) {
      if (recording.Text(function.filename).find(part) != std::string_view::npos ||
          recording.Text(function.name).find(part) != std::string_view::npos) {
        return back_end;
      }
    }
  }
  return {};
}

std::string UpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return upper;
}

}  // namespace

// "XPU", "NPU": for allocators other than CUDA's, recognised by their settings, or by the code that
// allocates, because some of them keep the names of CUDA's settings; else empty.
std::string SnapshotBuilder::Platform() const {
  const Recording& recording = context_.builder.recording();
  if (const std::string_view code = BackEndOfCode(recording); !code.empty()) {
    return std::string(code);
  }
  bool plain = false;
  bool others = false;
  for (const Setting& setting : recording.settings) {
    const std::string_view name = setting.name;
    for (const std::string_view part : {Between(name, "PYTORCH_", "_ALLOC_CONF"),
                                        Between(name, "pinned_use_", "_host_register")}) {
      if (!part.empty()) {
        std::string kind = UpperCase(part);
        return kind == "CUDA" || kind == "HIP" ? std::string() : kind;
      }
    }
    plain = plain || name == "PYTORCH_ALLOC_CONF";
    others = others || (name != "PYTORCH_ALLOC_CONF" && name != "expandable_segments");
  }
  // An XPU's snapshot names no platform, and knows two settings.
  constexpr std::uint64_t kOfCuda = Bit(Word::kExternalAnnotations) | Bit(Word::kCompileContext) |
                                    Bit(Word::kUserMetadata) | Bit(Word::kPoolId);
  return plain && !others && (context_.seen.bits & kOfCuda) == 0 ? "XPU" : std::string();
}

// A snapshot that memtool cut out of another one says which of its figures are estimates.
void SnapshotBuilder::Comments() {
  if (parts_.cut.kind != kind::kOpaqueValue || !opaque_values_.IsDict(parts_.cut)) {
    return;
  }
  std::string message;
  for (const auto& [name, text] : opaque_values_.Leaves(parts_.cut)) {
    if (name.starts_with("comments.") && !text.empty()) {
      context_.builder.metadata().comments.push_back(context_.builder.Intern(text));
      message += (message.empty() ? "" : "; ") + text;
    }
  }
  if (!message.empty()) {
    context_.builder.AddDiagnostic(
        {.severity = Severity::kNote, .code = "cut", .message = std::move(message)});
  }
}

// The recorder says for all devices or for each one that its ring dropped entries; versions differ
// in where.
bool SnapshotBuilder::Overflowed(std::size_t device) const {
  const auto holds = [this, device](const Value& value) {
    if (value.kind != kind::kOpaqueValue) {
      return (value.kind == ValueKind::kBool || value.kind == ValueKind::kInt) &&
             value.payload != 0;
    }
    const auto items = opaque_values_.Items(value);
    const std::size_t width = opaque_values_.IsDict(value) ? 2 : 1;
    const std::size_t at = device * width + width - 1;
    return at < items.size() && items[at].kind == ValueKind::kBool && items[at].payload != 0;
  };
  if (holds(parts_.overflowed)) {
    return true;
  }
  if (parts_.settings.kind == kind::kOpaqueValue && opaque_values_.IsDict(parts_.settings)) {
    const auto items = opaque_values_.Items(parts_.settings);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (GetWord(items[i]) == Word::kTraceAllocOverflowed) {
        return holds(items[i + 1]);
      }
    }
  }
  return false;
}

void SnapshotBuilder::AddTrace(History& history, std::int32_t device, std::string name,
                               EventRun run) {
  if (history.traces.size() >= kMaxTraces) {
    ThrowRead(ErrorCode::kLimit, 0, "device_traces",
              fmt::format("more than {} devices with contents", kMaxTraces));
  }
  const bool host = device < 0;
  const DomainKind domain_kind = host ? DomainKind::kPinned : DomainKind::kDevice;
  const DomainId segments(history.domains.size());
  history.domains.push_back(
      {.name = "segments", .device = device, .kind = domain_kind, .level = DomainLevel::kDriver});
  history.domains.push_back({.name = "blocks",
                             .device = device,
                             .kind = domain_kind,
                             .level = DomainLevel::kAllocator,
                             .parent = segments});
  history.traces.push_back({.device = device,
                            .name = std::move(name),
                            .first_event = run.first,
                            .event_count = run.count,
                            .blocks = DomainId(segments.value() + kBlocksDomain),
                            .segments = DomainId(segments.value() + kSegmentsDomain)});
}

// The devices that have segments or events. A snapshot without traces (a bare list of segments) has
// devices all the same.
std::set<std::int32_t> SnapshotBuilder::Devices(const AllocatorState& state,
                                                const TraceList& listed) {
  std::set<std::int32_t> devices;
  for (const Segment& segment : state.segments) {
    if (!segment.host) {
      devices.insert(segment.device);
    }
  }
  if (!listed.empty() && !devices.empty() &&
      *devices.rbegin() >= static_cast<std::int32_t>(listed.size())) {
    context_.notes.Add(Severity::kDamage, "device_without_trace",
                       fmt::format("segments of device {}, but only {} lists of events",
                                   *devices.rbegin(), listed.size()),
                       0);
  }
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (listed[i].count > 0) {
      devices.insert(static_cast<std::int32_t>(i));
    }
  }
  return devices;
}

// Pinned host memory: one list of events, or a list of them.
void SnapshotBuilder::HostTraces(History& history, const AllocatorState& state) {
  TraceList runs;
  if (parts_.host_traces.kind == kind::kEvents) {
    runs.push_back({parts_.host_traces.Low(), parts_.host_traces.High()});
  } else if (parts_.host_traces.kind == kind::kTraces) {
    runs = trace_lists_[parts_.host_traces.Low()];
    std::erase_if(runs, [](const EventRun& run) { return run.count == 0; });
  }
  if (runs.empty() && std::any_of(state.segments.begin(), state.segments.end(),
                                  [](const Segment& segment) { return segment.host; })) {
    runs.emplace_back();
  }
  for (const EventRun run : runs) {
    AddTrace(history, -1, "host", run);
  }
}

void SnapshotBuilder::Traces(History& history, const AllocatorState& state) {
  const TraceList listed =
      parts_.traces.kind == kind::kTraces ? trace_lists_[parts_.traces.Low()] : TraceList{};
  for (const std::int32_t device : Devices(state, listed)) {
    const auto at = static_cast<std::size_t>(device);
    AddTrace(history, device, std::to_string(device), at < listed.size() ? listed[at] : EventRun{});
    history.traces.back().overflowed = Overflowed(at);
  }
  HostTraces(history, state);
  events_.MoveTo(history);
}

// START and END of annotations need not nest, nor match: an END closes the newest open span of its
// name and device; what stays open has no end, and an END alone has no beginning.
void SnapshotBuilder::Marks(History& history) {
  if (parts_.annotations.kind != kind::kAnnotations) {
    return;
  }
  std::map<std::pair<std::int32_t, std::uint32_t>, std::vector<std::size_t>> open;
  for (std::uint32_t i = 0; i < parts_.annotations.High(); ++i) {
    const Annotation& row = annotations_[parts_.annotations.Low() + i];
    std::vector<std::size_t>& spans = open[{row.device, row.name.value()}];
    if (row.stage == Word::kEnd && !spans.empty()) {
      history.marks[spans.back()].end = row.time;
      spans.pop_back();
      continue;
    }
    const bool end = row.stage == Word::kEnd;
    if (row.stage == Word::kStart) {
      spans.push_back(history.marks.size());
    }
    history.marks.push_back({.name = std::string(context_.builder.Text(row.name)),
                             .device = row.device,
                             .begin = end ? kNoTime : row.time,
                             .end = end ? row.time : kNoTime});
  }
}

// The version of PyTorch that first wrote the newest of the keys seen.
std::string SnapshotBuilder::Era() const {
  // Frames of torch.fx arrived in the same version as user metadata.
  const std::uint64_t seen = context_.seen.bits | (context_.fx ? Bit(Word::kUserMetadata) : 0);
  for (const auto& era : kEras) {
    if ((seen & era.keys) != 0) {
      return std::string(era.name);
    }
  }
  return std::string(kEras.back().name);
}

void SnapshotBuilder::Describe(const History& history) {
  RecordingBuilder& builder = context_.builder;
  const bool nothing = history.traces.empty();
  const std::string platform = Platform();
  builder.metadata().origin = {.framework = Framework::kPyTorch,
                               .kind = RecordingKind::kSnapshot,
                               .platform = platform,
                               .schema = nothing ? std::string{} : Era()};
  // The schemas are CUDA's; the others adopted one of them.
  const std::string schema = nothing || !platform.empty() ? std::string() : ", schema of " + Era();
  builder.metadata().format_display = fmt::format(
      "PyTorch {} snapshot ({}{})", platform.empty() ? "CUDA" : platform, context_.form, schema);
  if (nothing) {
    context_.notes.Add(
        Severity::kWarning, "empty_snapshot",
        "the snapshot holds no segment and no event: nothing was allocated, or it was "
        "written by a process that does not use the device",
        0);
  }
  builder.AddBlindSpot((platform.empty() ? "CUDA" : platform) + " context",
                       "the driver takes it outside PyTorch's allocator");
  builder.AddBlindSpot(platform.empty() ? "NCCL" : "libraries for collectives",
                       platform.empty() ? "its buffers come straight from the driver"
                                        : "their buffers come straight from the driver");
  builder.AddBlindSpot(platform.empty() ? "cuBLAS and other libraries" : "other libraries",
                       "workspaces that do not come from PyTorch's allocator are not recorded");
  builder.AddBlindSpot("other processes", "a snapshot holds one process");
}

}  // namespace memtool::formats::torch_snapshot
