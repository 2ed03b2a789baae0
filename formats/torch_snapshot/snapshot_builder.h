// Makes a Recording from a snapshot's dicts and lists, however they are written. What a dict is
// follows from its keys, what a list is from its items, because both arrive from the inside out.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "torch_snapshot/context.h"
#include "torch_snapshot/events.h"
#include "torch_snapshot/frames.h"
#include "torch_snapshot/opaque_values.h"
#include "torch_snapshot/state.h"

namespace memtool::formats::torch_snapshot {

class SnapshotBuilder final : public DataBuilder {
 public:
  // `form`: how the snapshot is written, for people.
  SnapshotBuilder(const Limits& limits, std::string form);

  Value String(std::string_view text, std::uint64_t offset) override;
  Value Dict(const Value& dict, std::span<const Value> pairs, std::uint64_t offset) override;
  std::optional<std::uint32_t> Plan(std::span<const Value> pairs) override;
  Value PlannedDict(std::uint32_t plan, std::span<const Value> pairs,
                    std::uint64_t offset) override;
  Value List(const Value& list, std::span<const Value> items, std::uint64_t offset) override;
  Value Tuple(std::span<const Value> items, std::uint64_t offset) override;
  [[nodiscard]] std::string_view Text(const Value& value) const override;

  Context& context() { return context_; }
  // `root` is the whole snapshot: a dict of everything, or a list of segments.
  Result<Recording> Finish(const Value& root, std::uint64_t offset);

 private:
  struct Annotation {
    StringId name;
    Word stage = Word::kNoWord;
    std::int32_t device = -1;
    std::int64_t time = kNoTime;
  };
  struct EventRun {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  using TraceList = std::vector<EventRun>;

  Value Top(const Value& dict, std::span<const Value> pairs, std::uint64_t offset);
  Value AddAnnotation(std::span<const Value> pairs, std::uint64_t offset);
  Value RowList(const Value& list, std::span<const Value> items, std::uint64_t offset);
  Value Traces(const Value& list, std::span<const Value> items, std::uint64_t offset);
  Value Generic(const Value& base, std::span<const Value> values, std::uint64_t offset, bool dict);

  void ReadRoot(const Value& root, std::uint64_t offset);
  void Settings();
  void WarnOfSettings();
  [[nodiscard]] std::string Platform() const;
  [[nodiscard]] bool Overflowed(std::size_t device) const;
  void Traces(History& history, const AllocatorState& state);
  void AddTrace(History& history, std::int32_t device, std::string name, EventRun run);
  std::set<std::int32_t> Devices(const AllocatorState& state, const TraceList& listed);
  void HostTraces(History& history, const AllocatorState& state);
  void Marks(History& history);
  void Comments();
  void Describe(const History& history);
  [[nodiscard]] std::string Era() const;

  Context context_;
  OpaqueStore opaque_values_;
  FrameTable frames_;
  EventTable events_;
  std::vector<EventTable::Keys> plans_;
  StateTable state_;
  std::vector<Annotation> annotations_;
  std::vector<TraceList> trace_lists_;

  // What the dict of everything holds, by key.
  struct Parts {
    Value segments;
    Value host_segments;
    Value traces;
    Value host_traces;
    Value annotations;
    Value settings;
    Value overflowed;
    Value max_entries;
    Value cut;  // {"comments": [text]}: what our own writer had to say
  };
  Parts parts_;
};

}  // namespace memtool::formats::torch_snapshot
