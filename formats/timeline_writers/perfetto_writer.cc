#include "timeline_writers/perfetto_writer.h"

#include <fmt/format.h>

#include <array>

#include "memtool/profile/base/escape.h"
#include "memtool/profile/model/label_text.h"
#include "timeline_writers/chunks.h"
#include "timeline_writers/export_model.h"
#include "timeline_writers/names.h"
#include "timeline_writers/perfetto_interner.h"

namespace memtool::formats {

namespace {

constexpr ExportLimits kPerfettoLimits{};

// Numbers of fields and of enum values, by message.
constexpr std::uint32_t kTracePacket = 1;
namespace packet {
constexpr std::uint32_t kTimestamp = 8;
constexpr std::uint32_t kSequence = 10;
constexpr std::uint32_t kTrackEvent = 11;
constexpr std::uint32_t kInternedData = 12;
constexpr std::uint32_t kFlags = 13;
constexpr std::uint32_t kTrackDescriptor = 60;
constexpr std::uint64_t kCleared = 1;
constexpr std::uint64_t kNeeded = 2;
}  // namespace packet
namespace track {
constexpr std::uint32_t kUuid = 1;
constexpr std::uint32_t kName = 2;
constexpr std::uint32_t kProcess = 3;
constexpr std::uint32_t kParent = 5;
constexpr std::uint32_t kCounter = 8;
constexpr std::uint32_t kOrdering = 11;
constexpr std::uint32_t kRank = 12;
constexpr std::uint64_t kExplicit = 3;
constexpr std::uint32_t kPid = 1;
constexpr std::uint32_t kProcessName = 6;
constexpr std::uint32_t kUnit = 3;
constexpr std::uint32_t kShareKey = 7;
constexpr std::uint64_t kBytes = 3;
}  // namespace track
namespace event {
constexpr std::uint32_t kAnnotation = 4;
constexpr std::uint32_t kType = 9;
constexpr std::uint32_t kNameIid = 10;
constexpr std::uint32_t kTrack = 11;
constexpr std::uint32_t kName = 23;
constexpr std::uint32_t kCounterValue = 30;
constexpr std::uint32_t kCallstackIid = 56;
constexpr std::uint32_t kCallstackWeight = 57;
constexpr std::uint64_t kBegin = 1;
constexpr std::uint64_t kEnd = 2;
constexpr std::uint64_t kInstant = 3;
constexpr std::uint64_t kCounter = 4;
}  // namespace event
namespace annotation {
constexpr std::uint32_t kNameIid = 1;
constexpr std::uint32_t kUint = 3;
constexpr std::uint32_t kInt = 4;
constexpr std::uint32_t kString = 6;
constexpr std::uint32_t kPointer = 7;
}  // namespace annotation

constexpr std::uint64_t kSequenceId = 1;
// Tracks of a trace have the numbers after its own: counters, then allocations, then lanes.
constexpr std::uint64_t kTracksOfTrace = std::uint64_t{1} << 24U;
constexpr std::uint64_t kAllocations = std::uint64_t{1} << 20U;
constexpr std::uint64_t kLanes = kAllocations + 1;
constexpr std::uint64_t kMarks = 2;  // of the whole file, below all traces
constexpr std::uint64_t kAbout = 1;

std::uint64_t GetTrack(const ExportTrace& trace) {
  return (trace.number + 1) * kTracksOfTrace;
}

class PerfettoSink final : public ExportSink {
 public:
  PerfettoSink(const Recording& recording, const WriteOptions& options, Chunks& out)
      : recording_(recording), names_(recording, options), interned_(recording), out_(out) {}

  void BeginTrace(const ExportTrace& trace) override {
    ProtoBytes process;
    process.Number(track::kPid, trace.number + 1).Bytes(track::kProcessName, ToUtf8(trace.name));
    ProtoBytes descriptor;
    Track(descriptor.Number(track::kUuid, GetTrack(trace))
              .Bytes(track::kName, ToUtf8(trace.name))
              .Message(track::kProcess, process)
              .Number(track::kOrdering, track::kExplicit));
    for (std::size_t i = 0; i < trace.counters.size(); ++i) {
      ProtoBytes counter;
      counter.Number(track::kUnit, track::kBytes).Bytes(track::kShareKey, "bytes");
      descriptor.Clear();
      Track(descriptor.Number(track::kUuid, CounterTrack(trace, i))
                .Bytes(track::kName, ToUtf8(trace.counters[i].name))
                .Number(track::kParent, GetTrack(trace))
                .Message(track::kCounter, counter)
                .Number(track::kRank, i));
    }
    descriptor.Clear();
    Track(descriptor.Number(track::kUuid, GetTrack(trace) + kAllocations)
              .Bytes(track::kName, "allocations")
              .Number(track::kParent, GetTrack(trace))
              .Number(track::kRank, trace.counters.size()));
    lanes_ = 0;
  }

  void Counter(const ExportTrace& trace, std::size_t counter, std::int64_t time,
               std::int64_t value) override {
    Event(time,
          Start(event::kCounter, CounterTrack(trace, counter)).Signed(event::kCounterValue, value));
  }

  void Allocation(const ExportTrace& trace, const ExportBlock& block) override {
    Start(event::kInstant, GetTrack(trace) + kAllocations);
    event_.Number(event::kNameIid, interned_.EventName(names_.Of(block.stack)));
    Weigh(block);
    Event(block.begin, event_);
  }

  void Block(const ExportTrace& trace, std::size_t lane, const ExportBlock& block) override {
    const std::uint64_t track = GetTrack(trace) + kLanes + lane;
    for (; lanes_ <= lane; ++lanes_) {
      ProtoBytes descriptor;
      Track(descriptor.Number(track::kUuid, GetTrack(trace) + kLanes + lanes_)
                .Bytes(track::kName, "largest blocks")
                .Number(track::kParent, GetTrack(trace))
                .Number(track::kRank, trace.counters.size() + 1 + lanes_));
    }
    Start(event::kBegin, track);
    const bool before = !block.event && !block.stack.valid();
    if (before) {
      event_.Bytes(event::kName, kBeforeRecording);
    } else {
      event_.Number(event::kNameIid, interned_.EventName(names_.Of(block.stack)));
    }
    Annotate("bytes", annotation::kUint, static_cast<std::uint64_t>(block.bytes));
    Annotate("address", annotation::kPointer, block.address);
    if (block.event) {
      Annotate("event", annotation::kUint, *block.event);
    }
    if (block.freed) {
      Annotate("freed", annotation::kUint, *block.freed);
    }
    for (const Label& label : recording_.Labels(block.labels)) {
      const std::string key = ToUtf8(recording_.Text(label.key));
      if (label.numeric) {
        Annotate(key, annotation::kInt, static_cast<std::uint64_t>(label.number));
      } else {
        Annotate(key, recording_.Text(label.text));
      }
    }
    Weigh(block);
    Event(block.begin, event_);
    Event(block.end, Start(event::kEnd, track));
  }

  void Mark(std::size_t lane, const ExportMark& mark) override {
    const std::uint64_t track = kMarks + (mark.span ? lane : 0);
    for (; mark_lanes_ <= track - kMarks; ++mark_lanes_) {
      ProtoBytes descriptor;
      Track(descriptor.Number(track::kUuid, kMarks + mark_lanes_).Bytes(track::kName, "marks"));
    }
    Start(mark.span ? event::kBegin : event::kInstant, track);
    event_.Bytes(event::kName, ToUtf8(mark.name));
    if (mark.device >= 0) {
      Annotate("device", annotation::kUint, static_cast<std::uint64_t>(mark.device));
    }
    if (mark.out_of != ExportMark::kNone) {
      Annotate("bytes requested", annotation::kInt, static_cast<std::uint64_t>(mark.out_of));
    }
    Event(mark.begin, event_);
    if (mark.span) {
      Event(mark.end, Start(event::kEnd, track));
    }
  }

  // What the file is, as an instant with annotations at its beginning.
  void About(const ExportFacts& facts, std::int64_t time) {
    ProtoBytes descriptor;
    Track(descriptor.Number(track::kUuid, kAbout).Bytes(track::kName, "memtool"));
    Start(event::kInstant, kAbout);
    event_.Bytes(event::kName, "memtool");
    Annotate("input", recording_.metadata.format_display);
    Annotate("zero_nanoseconds", annotation::kInt, static_cast<std::uint64_t>(facts.zero));
    for (std::size_t i = 0; i < facts.notes.size(); ++i) {
      Annotate(fmt::format("note {}", i + 1), facts.notes[i]);
    }
    Event(time, event_);
  }

 private:
  static std::uint64_t CounterTrack(const ExportTrace& trace, std::size_t counter) {
    return GetTrack(trace) + 1 + counter;
  }

  ProtoBytes& Start(std::uint64_t type, std::uint64_t track) {
    event_.Clear();
    return event_.Number(event::kType, type).Number(event::kTrack, track);
  }

  void Weigh(const ExportBlock& block) {
    if (block.stack.valid() && !recording_.Stack(block.stack).empty()) {
      event_.Number(event::kCallstackIid, interned_.Callstack(block.stack))
          .Double(event::kCallstackWeight, static_cast<double>(block.bytes));
    }
  }

  void Annotate(std::string_view name, std::uint32_t kind, std::uint64_t value) {
    ProtoBytes entry;
    event_.Message(
        event::kAnnotation,
        entry.Number(annotation::kNameIid, interned_.AnnotationName(name)).Number(kind, value));
  }
  void Annotate(std::string_view name, std::string_view text) {
    ProtoBytes entry;
    event_.Message(event::kAnnotation,
                   entry.Number(annotation::kNameIid, interned_.AnnotationName(name))
                       .Bytes(annotation::kString, ToUtf8(text)));
  }

  void Track(const ProtoBytes& descriptor) {
    packet_.Clear();
    Packet(packet_.Message(packet::kTrackDescriptor, descriptor));
  }

  void Event(std::int64_t time, const ProtoBytes& event) {
    packet_.Clear();
    packet_.Number(packet::kTimestamp, static_cast<std::uint64_t>(time));
    if (!interned_.pending().empty()) {
      packet_.Message(packet::kInternedData, interned_.pending());
      interned_.Clear();
    }
    Packet(packet_.Message(packet::kTrackEvent, event));
  }

  // The first packet clears the state of the sequence, all others build on it.
  void Packet(ProtoBytes& packet) {
    packet.Number(packet::kSequence, kSequenceId);
    packet.Number(packet::kFlags, first_ ? packet::kCleared | packet::kNeeded : packet::kNeeded);
    first_ = false;
    file_.Clear();
    out_.Add(file_.Message(kTracePacket, packet).bytes());
  }

  const Recording& recording_;
  ExportNames names_;
  PerfettoInterner interned_;
  Chunks& out_;
  ProtoBytes event_;
  ProtoBytes packet_;
  ProtoBytes file_;
  std::uint64_t lanes_ = 0;       // of the trace, that have a track
  std::uint64_t mark_lanes_ = 0;  // likewise, of marks
  bool first_ = true;
};

}  // namespace

std::span<const std::string_view> PerfettoWriter::endings() const {
  static constexpr std::array<std::string_view, 2> kEndings{".pftrace", ".perfetto-trace"};
  return kEndings;
}

Result<void> PerfettoWriter::Write(const Recording& recording, const WriteOptions& options,
                                   const ByteSink& sink) const {
  const auto model = ExportModel::Of(recording, options, kPerfettoLimits);
  MEMTOOL_TRY(model);
  if (options.note) {
    for (const std::string& note : model->facts().notes) {
      options.note(note);
    }
  }
  Chunks out(sink);
  PerfettoSink drawn(recording, options, out);
  drawn.About(model->facts(), model->start());
  MEMTOOL_TRY(model->Draw(drawn));
  return out.Finish();
}

}  // namespace memtool::formats
