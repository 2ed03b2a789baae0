#include "memtool/profile/select/at_moment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/replay/base_kinds.h"
#include "memtool/profile/replay/history_index.h"
#include "select/backward.h"

namespace memtool {

namespace {

// Labels and stack of one live block, as rows of the recording being built.
class SampleMaker {
 public:
  SampleMaker(RecordingBuilder& builder, const HistoryIndex& index, const Trace& trace)
      : builder_(builder),
        recording_(index.recording()),
        trace_(trace),
        partners_(index.replay(trace).partners()),
        base_(recording_, trace, index.replay(trace)),
        backward_(recording_, trace, index.replay(trace)) {
    const Recording& recording = recording_;
    for (const Breakdown& breakdown : recording.history->breakdowns) {
      breakdowns_.emplace(std::pair(breakdown.stack, breakdown.size), &breakdown);
    }
    if (!recording.state) {
      return;
    }
    for (const Segment& segment : recording.state->segments) {
      if (segment.host == (trace.device < 0) && (segment.host || segment.device == trace.device)) {
        segments_.push_back(&segment);
      }
    }
    std::sort(segments_.begin(), segments_.end(),
              [](const Segment* x, const Segment* y) { return x->address < y->address; });
  }

  // The stacks of blocks that have none of their own.
  struct Stacks {
    StackId before_recording;
    StackId without_address;
    StackId none;
  };
  void Add(const LiveBlock& block, const Stacks& named) {
    // What is divided is known by its stack, even by an empty one.
    const bool frames = block.stack.valid() && (!recording_.Stack(block.stack).empty() ||
                                                FindBreakdown(block.stack, block.size) != nullptr);
    const StackId stack = frames                   ? block.stack
                          : block.before_recording ? named.before_recording
                          : block.without_address  ? named.without_address
                                                   : named.none;
    Sum& sum = sums_[{stack, MakeLabels(block), block.size}];
    ++sum.count;
    sum.bytes = SaturatingAdd(sum.bytes, block.size);
  }

  void Finish() {
    for (const auto& [key, sum] : sums_) {
      const auto& [stack, labels, size] = key;
      if (const Breakdown* breakdown = FindBreakdown(stack, size)) {
        AddParts(*breakdown, labels, sum.count);
      } else {
        builder_.AddSample(stack, labels, std::array{sum.count, sum.bytes});
      }
    }
  }

 private:
  struct Sum {
    std::int64_t count = 0;
    std::int64_t bytes = 0;
  };

  [[nodiscard]] const Breakdown* FindBreakdown(StackId stack, std::int64_t size) const {
    const auto found = breakdowns_.find({stack, size});
    return found == breakdowns_.end() ? nullptr : found->second;
  }

  // The parts of `count` equal allocations; the largest, which comes first, counts as the
  // allocation. A part's own label takes the place of the allocation's.
  void AddParts(const Breakdown& breakdown, LabelSetId labels, std::int64_t count) {
    const auto parts =
        std::span(recording_.history->parts).subspan(breakdown.first_part, breakdown.part_count);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto of_all = builder_.Labels(labels);
      std::vector<Label> all(of_all.begin(), of_all.end());
      const auto own = builder_.Labels(parts[i].labels);
      std::erase_if(all, [&own](const Label& label) {
        return std::any_of(own.begin(), own.end(),
                           [&label](const Label& mine) { return mine.key == label.key; });
      });
      all.insert(all.end(), own.begin(), own.end());
      builder_.AddSample(parts[i].stack, builder_.InternLabels(all),
                         std::array{i == 0 ? count : 0, SaturatingMultiply(parts[i].bytes, count)});
    }
  }

  [[nodiscard]] const Segment* GetSegment(std::uint64_t address) const {
    const auto after = std::upper_bound(
        segments_.begin(), segments_.end(), address,
        [](std::uint64_t wanted, const Segment* segment) { return wanted < segment->address; });
    if (after == segments_.begin()) {
      return nullptr;
    }
    const Segment* segment = *(after - 1);
    return address - segment->address < static_cast<std::uint64_t>(segment->size) ? segment
                                                                                  : nullptr;
  }

  Label Text(std::string_view key, std::string_view value) {
    return {.key = builder_.Intern(key), .text = builder_.Intern(value), .unit = StringId(0U)};
  }

  // Allocated in the recording, and not freed in it.
  [[nodiscard]] bool StaysForever(const LiveBlock& block) const {
    return block.event && !block.before_recording &&
           partners_[*block.event - trace_.first_event] == Replay::kNoEvent;
  }

  LabelSetId MakeLabels(const LiveBlock& block) {
    std::vector<Label> labels;
    AddPlace(block, labels);
    if (const BaseKind kind = base_.Of(block, trace_); kind != BaseKind::kUnknown) {
      labels.push_back(Text(kUseKey, BaseKindName(kind)));
    } else if (IsWorkspaceSize(block.size) && StaysForever(block)) {
      labels.push_back(Text(kUseKey, BaseKindName(BaseKind::kWorkspace)));
    }
    // The free of something allocated before the recording has the labels of the free, not of the
    // allocation.
    if (block.event && !block.before_recording) {
      AddOwn(*block.event, labels);
    }
    return builder_.InternLabels(labels);
  }

  // Where the block lies.
  void AddPlace(const LiveBlock& block, std::vector<Label>& labels) {
    if (block.without_address) {
      labels.push_back(Text("device", trace_.name));
      return;
    }
    const Segment* segment = GetSegment(block.address);
    const History& history = *recording_.history;
    const std::uint16_t stream = block.event          ? history.events[*block.event].stream
                                 : segment != nullptr ? segment->stream
                                                      : std::uint16_t{0};
    labels.push_back(Text("device", trace_.name));
    labels.push_back(Text("stream", fmt::format("{:#x}", history.streams[stream])));
    labels.push_back(Text("state", block.pending_free ? "pending_free" : "active"));
    // A program's allocations are of no size class.
    if (segment != nullptr && recording_.metadata.origin.kind != RecordingKind::kProgram) {
      labels.push_back(Text("segment", segment->small ? "small" : "large"));
      if (segment->pool_owner != 0 || segment->pool_id != 0) {
        labels.push_back(
            Text("pool", fmt::format("({}, {})", segment->pool_owner, segment->pool_id)));
      }
    }
  }

  // What its allocation says.
  void AddOwn(std::uint64_t event, std::vector<Label>& labels) {
    if (backward_.IsTemporary(static_cast<std::uint32_t>(event - trace_.first_event))) {
      labels.push_back(Text("backward", "temporary"));
    }
    const History& history = *recording_.history;
    if (history.labels.empty()) {
      return;
    }
    // A block may have several labels with one key; keys set above are not set again.
    const auto reported = static_cast<std::ptrdiff_t>(labels.size());
    for (const Label& label : recording_.Labels(history.labels[event])) {
      const bool known = std::any_of(labels.begin(), labels.begin() + reported,
                                     [&label](const Label& have) { return have.key == label.key; });
      if (!known) {
        labels.push_back(label);
      }
    }
  }

  RecordingBuilder& builder_;
  const Recording& recording_;
  const Trace& trace_;
  std::span<const std::uint32_t> partners_;
  BaseKinds base_;
  BackwardPasses backward_;
  std::vector<const Segment*> segments_;  // of this trace, by address
  std::map<std::pair<StackId, std::int64_t>, const Breakdown*> breakdowns_;
  std::map<std::tuple<StackId, LabelSetId, std::int64_t>, Sum> sums_;
};

struct ChosenTrace {
  std::size_t trace = 0;
  std::shared_ptr<const std::vector<LiveBlock>> live;
};

Result<std::vector<std::size_t>> ChooseTraces(const Recording& recording, const MomentSpec& spec,
                                              std::string_view device) {
  auto chosen = GetTraces(recording, device);
  if (chosen && chosen->size() > 1 && spec.kind == MomentSpec::Kind::kEvent) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} {}: each device counts its own events; choose one with --device",
                            spec.option, spec.text),
                "devices: " + TraceNames(recording));
  }
  return chosen;
}

// The live blocks of every chosen trace at the moment; for "oom", traces without such an event are
// left out as long as one has it.
Result<std::vector<ChosenTrace>> LiveBlocks(const HistoryIndex& index, const MomentSpec& spec,
                                            std::span<const std::size_t> chosen,
                                            std::vector<MomentOfTrace>* moments) {
  std::vector<ChosenTrace> live;
  std::optional<Error> missing;
  for (const std::size_t i : chosen) {
    const Trace& trace = index.history().traces[i];
    MomentOfTrace moment{.trace = i, .device = trace.device, .summary = index.summary(i)};
    auto event = ResolveMoment(index, trace, spec);
    if (!event) {
      missing = std::move(event.error());
      continue;
    }
    moment.event = *event;
    live.push_back({i, index.LiveAt(trace, *event)});
    for (const LiveBlock& block : *live.back().live) {
      moment.live = RunningAdd(moment.live, block.size);
    }
    moments->push_back(std::move(moment));
  }
  if (missing && (live.empty() || spec.kind != MomentSpec::Kind::kOom)) {
    return Fail(*std::move(missing));
  }
  return live;
}

StackId AddNamedStack(RecordingBuilder& builder, std::string_view name) {
  const StringId text = builder.Intern(name);
  const StringId empty(0U);
  const Line line{.function =
                      builder.AddFunction({.name = text, .system_name = text, .filename = empty})};
  const LocationId location = builder.AddLocation({}, std::array{line});
  return builder.AddStack(std::array{location});
}

}  // namespace

Result<LiveRecording> AtMoment(const HistoryIndex& index, const MomentSpec& spec,
                               std::string_view device) {
  auto chosen = ChooseTraces(index.recording(), spec, device);
  MEMTOOL_TRY(chosen);
  LiveRecording result;
  auto live = LiveBlocks(index, spec, *chosen, &result.moments);
  MEMTOOL_TRY(live);
  RecordingBuilder builder(index.recording());
  const bool without_address =
      std::any_of(live->begin(), live->end(), [](const ChosenTrace& trace) {
        return std::any_of(trace.live->begin(), trace.live->end(),
                           [](const LiveBlock& block) { return block.without_address; });
      });
  const SampleMaker::Stacks named{
      .before_recording = AddNamedStack(builder, kBeforeRecording),
      .without_address = without_address ? AddNamedStack(builder, kWithoutAddress) : StackId(),
      .none = builder.AddStack({})};
  const StringId bytes = builder.Intern("space");
  builder.StartProfile({{.type = builder.Intern("allocations"),
                         .unit = builder.Intern("count"),
                         .role = Role::kCount},
                        {.type = bytes, .unit = builder.Intern("bytes"), .role = Role::kBytes}},
                       bytes);
  for (const ChosenTrace& trace : *live) {
    SampleMaker samples(builder, index, index.history().traces[trace.trace]);
    for (const LiveBlock& block : *trace.live) {
      samples.Add(block, named);
    }
    samples.Finish();
  }
  auto made = std::move(builder).Finish();
  MEMTOOL_TRY(made);
  result.recording = std::make_shared<const Recording>(*std::move(made));
  return result;
}

}  // namespace memtool
