#include "torch_snapshot/write/snapshot_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>

#include "memtool/profile/base/numbers.h"
#include "torch_snapshot/fixups/metadata.h"
#include "torch_snapshot/version_signatures.h"
#include "torch_snapshot/wire/pickle_writer.h"

namespace memtool::formats::torch_snapshot {

namespace {

constexpr std::uint32_t kUnwritten = UINT32_MAX;

Word GetWord(Action action) {
  switch (action) {
    case Action::kAlloc:
      return Word::kAlloc;
    case Action::kFreeRequested:
      return Word::kFreeRequested;
    case Action::kFreeCompleted:
      return Word::kFreeCompleted;
    case Action::kSegmentAlloc:
      return Word::kSegmentAlloc;
    case Action::kSegmentFree:
      return Word::kSegmentFree;
    case Action::kSegmentMap:
      return Word::kSegmentMap;
    case Action::kSegmentUnmap:
      return Word::kSegmentUnmap;
    case Action::kOom:
      return Word::kOom;
    case Action::kMark:
      return Word::kSnapshot;
    case Action::kAnnotate:
      return Word::kAnnotate;
    default:
      return Word::kUserDefined;
  }
}

Word GetWord(BlockState state) {
  return state == BlockState::kActive        ? Word::kActiveAllocated
         : state == BlockState::kPendingFree ? Word::kActivePendingFree
                                             : Word::kInactive;
}

// The keys that a file of this version has.
KeySet GetKeys(std::string_view schema) {
  KeySet keys;
  bool reached = false;
  for (const Era& era : kEras) {
    reached = reached || schema == era.name;
    keys.bits |= reached ? era.keys : 0;
  }
  return keys;
}

struct Annotation {
  std::int64_t time = kNoTime;
  const Mark* mark = nullptr;
  bool end = false;

  // Reading joins an END to the newest open span of its name, so at equal times what began earlier
  // ends first, and what has no length begins before it ends.
  [[nodiscard]] int Turn() const {
    const bool no_length = mark->begin == mark->end;
    return end && !no_length ? 0 : no_length ? 1 : 2;
  }
};

class SnapshotPickler {
 public:
  explicit SnapshotPickler(const Recording& recording)
      : recording_(recording),
        history_(*recording.history),
        keys_(GetKeys(recording.metadata.origin.schema)),
        frames_(recording.lines.size(), kUnwritten),
        stacks_(recording.stack_count(), kUnwritten) {}

  std::string Run() {
    out_.BeginDict();
    out_.Key(Word::kSegments);
    Segments(false);
    out_.Key(Word::kDeviceTraces);
    DeviceTraces();
    if (keys_.Has(Word::kAllocatorSettings)) {
      out_.Key(Word::kAllocatorSettings);
      Settings();
    }
    if (keys_.Has(Word::kExternalAnnotations)) {
      out_.Key(Word::kExternalAnnotations);
      Annotations();
    }
    if (keys_.Has(Word::kHostSegments)) {
      Host();
    }
    if (!recording_.metadata.comments.empty()) {
      Comments();
    }
    out_.EndDict();
    return out_.Finish();
  }

 private:
  void Frame(std::uint32_t row) {
    if (frames_[row] != kUnwritten) {
      return out_.Recall(frames_[row]);
    }
    const Line& line = recording_.lines[row];
    const Function function =
        line.function.valid() ? recording_.functions[line.function.value()] : Function{};
    out_.BeginDict();
    out_.Key(Word::kName);
    out_.Text(recording_.Text(function.name));
    out_.Key(Word::kFilename);
    out_.Text(recording_.Text(function.filename));
    out_.Key(Word::kLine);
    out_.Int(line.line);
    out_.EndDict();
    frames_[row] = out_.Remember();
  }

  void Frames(StackId stack) {
    out_.Key(Word::kFrames);
    if (stack.valid() && stacks_[stack.value()] != kUnwritten) {
      return out_.Recall(stacks_[stack.value()]);
    }
    out_.BeginList();
    const auto locations = stack.valid() ? recording_.Stack(stack) : std::span<const LocationId>{};
    for (const LocationId id : locations) {
      const Location& location = recording_.At(id);
      for (std::uint32_t i = 0; i < location.line_count; ++i) {
        out_.Item();
        Frame(location.first_line + i);
      }
    }
    out_.EndList();
    if (!locations.empty()) {
      stacks_[stack.value()] = out_.Remember();
    }
  }

  void Put(Word key, std::int64_t value) {
    out_.Key(key);
    out_.Int(value);
  }
  void PutUnsigned(Word key, std::uint64_t value) {
    out_.Key(key);
    out_.Unsigned(value);
  }
  void PutText(Word key, std::string_view text) {
    out_.Key(key);
    out_.Text(text);
  }

  void Segments(bool host) {
    out_.BeginList();
    for (const Segment& segment : recording_.state->segments) {
      if (segment.host == host) {
        out_.Item();
        OneSegment(segment);
      }
    }
    out_.EndList();
  }

  void OneSegment(const Segment& segment) {
    out_.BeginDict();
    Put(Word::kDevice, std::max(segment.device, 0));
    PutUnsigned(Word::kAddress, segment.address);
    Put(Word::kTotalSize, segment.size);
    Put(Word::kAllocatedSize, segment.allocated);
    Put(Word::kActiveSize, segment.active);
    if (keys_.Has(Word::kRequestedSize)) {
      Put(Word::kRequestedSize, segment.requested);
    }
    PutUnsigned(Word::kStream, history_.streams[segment.stream]);
    out_.Key(Word::kSegmentType);
    out_.Text(segment.small ? Word::kSmall : Word::kLarge);
    if (keys_.Has(Word::kIsExpandable)) {
      out_.Key(Word::kSegmentPoolId);
      out_.Pair(segment.pool_owner, segment.pool_id);
      out_.Key(Word::kIsExpandable);
      out_.Bool(segment.expandable);
    }
    Frames(segment.stack);
    out_.Key(Word::kBlocks);
    out_.BeginList();
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      out_.Item();
      OneBlock(recording_.state->blocks[segment.first_block + i]);
    }
    out_.EndList();
    out_.EndDict();
  }

  void OneBlock(const Block& block) {
    out_.BeginDict();
    PutUnsigned(Word::kAddress, block.address);
    Put(Word::kSize, block.size);
    Put(Word::kRequestedSize, block.requested);
    out_.Key(Word::kState);
    out_.Text(GetWord(block.state));
    Frames(block.stack);
    out_.EndDict();
  }

  void DeviceTraces() {
    std::int32_t last = -1;
    for (const Trace& trace : history_.traces) {
      last = std::max(last, trace.device);
    }
    out_.BeginList();
    for (std::int32_t device = 0; device <= last; ++device) {
      out_.Item();
      const auto trace = std::find_if(history_.traces.begin(), history_.traces.end(),
                                      [device](const Trace& one) { return one.device == device; });
      Events(trace == history_.traces.end() ? Trace{} : *trace);
    }
    out_.EndList();
  }

  void Host() {
    out_.Key(Word::kHostSegments);
    Segments(true);
    out_.Key(Word::kHostTraces);
    out_.BeginList();
    for (const Trace& trace : history_.traces) {
      if (trace.device < 0 && trace.event_count > 0) {
        out_.Item();
        Events(trace);
      }
    }
    out_.EndList();
    const bool overflowed = std::any_of(history_.traces.begin(), history_.traces.end(),
                                        [](const Trace& trace) { return trace.overflowed; });
    if (overflowed) {
      out_.Key(Word::kTraceAllocOverflowed);
      out_.Bool(true);
    }
  }

  // Readers of snapshots look keys up by name, so a key of our own disturbs nobody.
  void Comments() {
    out_.Key(Word::kMemtool);
    out_.BeginDict();
    out_.Key(std::string_view("comments"));
    out_.BeginList();
    for (const StringId comment : recording_.metadata.comments) {
      out_.Item();
      out_.Text(recording_.Text(comment));
    }
    out_.EndList();
    out_.EndDict();
  }

  void Events(const Trace& trace) {
    out_.BeginList();
    for (std::uint64_t i = 0; i < trace.event_count; ++i) {
      out_.Item();
      OneEvent(trace.first_event + i);
    }
    out_.EndList();
  }

  void OneEvent(std::uint64_t row) {
    const Event& event = history_.events[row];
    out_.BeginDict();
    out_.Key(Word::kAction);
    out_.Text(GetWord(event.action));
    PutUnsigned(event.action == Action::kOom ? Word::kDeviceFree : Word::kAddr, event.key);
    Put(Word::kSize, event.size);
    PutUnsigned(Word::kStream, history_.streams[event.stream]);
    if (event.time != kNoTime) {
      Put(Word::kTimeUs, event.time / 1000);
    }
    Labels(history_.labels.empty() ? LabelSetId(0U) : history_.labels[row]);
    Frames(event.stack);
    out_.EndDict();
  }

  [[nodiscard]] std::string_view MakeLabel(LabelSetId set, std::string_view key) const {
    for (const Label& label : recording_.Labels(set)) {
      if (recording_.Text(label.key) == key && !label.numeric) {
        return recording_.Text(label.text);
      }
    }
    return {};
  }

  // `otherwise`: what to write where nothing was recorded, which is nearly all events.
  void PutLabel(Word key, LabelSetId set, Word otherwise) {
    const std::string_view text = MakeLabel(set, kWords.at(static_cast<std::size_t>(key)));
    out_.Key(key);
    if (text.empty()) {
      out_.Text(otherwise);
    } else {
      out_.Text(text);
    }
  }

  void Labels(LabelSetId set) {
    if (keys_.Has(Word::kCompileContext)) {
      PutLabel(Word::kCompileContext, set, Word::kNotAvailable);
    }
    if (keys_.Has(Word::kUserMetadata)) {
      const std::string text = MetadataText(recording_, recording_.Labels(set));
      out_.Key(Word::kUserMetadata);
      if (text.empty()) {
        out_.Text(Word::kNoWord);  // in nearly all events
      } else {
        out_.Text(text);
      }
    }
    if (const std::string_view internal = MakeLabel(set, "internal_metadata"); !internal.empty()) {
      PutText(Word::kInternalMetadata, internal);
    }
    if (const std::string_view category = MakeLabel(set, "category"); !category.empty()) {
      PutText(Word::kCategory, category);
    }
    if (keys_.Has(Word::kPoolId)) {
      Pool(MakeLabel(set, "pool"));
    }
  }

  // "(0, 1)", as the reader writes it.
  void Pool(std::string_view text) {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    const char* end = text.data() + text.size();
    if (const std::size_t comma = text.find(", "); comma != std::string_view::npos) {
      std::from_chars(text.data() + 1, end, first);
      std::from_chars(text.data() + comma + 2, end, second);
    }
    out_.Key(Word::kPoolId);
    out_.Pair(first, second);
  }

  // What the reader flattened to a path, "roundup_power2_divisions.64", becomes a dict again.
  void Settings() {
    std::string_view open;
    out_.BeginDict();
    for (const Setting& setting : recording_.settings) {
      const std::string_view name = setting.name;
      const std::size_t dot = name.find('.');
      const std::string_view group =
          dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
      if (!open.empty() && group != open) {
        out_.EndDict();
      }
      if (!group.empty() && group != open) {
        out_.Key(group);
        out_.BeginDict();
      }
      open = group;
      out_.Key(group.empty() ? name : name.substr(dot + 1));
      SettingValue(setting.value);
    }
    if (!open.empty()) {
      out_.EndDict();
    }
    out_.EndDict();
  }

  // The number that the text is, when it is exactly how the reader writes that number.
  template <class Number>
  static std::optional<Number> ToNumber(const std::string& text) {
    const auto number = ParseNumber<Number>(text);
    return number && fmt::format("{}", *number) == text ? number : std::nullopt;
  }

  void SettingValue(const std::string& text) {
    if (text == "true" || text == "false") {
      out_.Bool(text == "true");
    } else if (const auto whole = ToNumber<std::int64_t>(text)) {
      out_.Int(*whole);
    } else if (const auto number = ToNumber<double>(text)) {
      out_.Float(*number);
    } else {
      out_.Text(text);
    }
  }

  // Marks that are entries of the recorder come before the annotations.
  [[nodiscard]] std::size_t MarksOfEvents() const {
    return static_cast<std::size_t>(
        std::count_if(history_.events.begin(), history_.events.end(),
                      [](const Event& event) { return event.action == Action::kMark; }));
  }

  void Annotations() {
    std::vector<Annotation> entries;
    const std::size_t first = std::min(MarksOfEvents(), history_.marks.size());
    for (std::size_t i = first; i < history_.marks.size(); ++i) {
      const Mark& mark = history_.marks[i];
      if (mark.begin != kNoTime) {
        entries.push_back({mark.begin, &mark, false});
      }
      if (mark.end != kNoTime) {
        entries.push_back({mark.end, &mark, true});
      }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Annotation& a, const Annotation& b) {
      return std::tuple(a.time, a.Turn()) < std::tuple(b.time, b.Turn());
    });
    out_.BeginList();
    for (const Annotation& entry : entries) {
      out_.Item();
      out_.BeginDict();
      out_.Key(Word::kStage);
      out_.Text(entry.end ? Word::kEnd : Word::kStart);
      PutText(Word::kName, entry.mark->name);
      Put(Word::kDevice, entry.mark->device);
      Put(Word::kTimeUs, entry.time / 1000);
      out_.EndDict();
    }
    out_.EndList();
  }

  const Recording& recording_;
  const History& history_;
  KeySet keys_;
  PickleWriter out_;
  std::vector<std::uint32_t> frames_;  // per line: its number in the pickle
  std::vector<std::uint32_t> stacks_;
};

}  // namespace

}  // namespace memtool::formats::torch_snapshot

namespace memtool::formats {

std::span<const std::string_view> TorchSnapshotWriter::endings() const {
  static constexpr std::array<std::string_view, 1> kEndings{".pickle"};
  return kEndings;
}

Result<void> TorchSnapshotWriter::Write(const Recording& recording, const WriteOptions& /*options*/,
                                        const ByteSink& sink) const {
  if (!recording.history || !recording.state) {
    return Fail(ErrorCode::kUnsupported,
                "the input has no events, or no segments of a caching allocator: a snapshot needs "
                "both");
  }
  return sink(torch_snapshot::SnapshotPickler(recording).Run());
}

}  // namespace memtool::formats
