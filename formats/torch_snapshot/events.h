// Trace entries become 32-byte rows as soon as their dict is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "torch_snapshot/context.h"
#include "torch_snapshot/fixups/metadata.h"
#include "torch_snapshot/opaque_values.h"

namespace memtool::formats::torch_snapshot {

// The domains of one trace; the trace's position is added when all are known.
inline constexpr std::uint8_t kSegmentsDomain = 0;
inline constexpr std::uint8_t kBlocksDomain = 1;

class EventTable {
 public:
  // An event that is a mark.
  struct Moment {
    std::uint64_t row = 0;
    StringId name;
  };

  EventTable(Context& context, OpaqueStore& opaque_values)
      : context_(context), opaque_values_(opaque_values) {}

  // Keys of events, in the order in which they are written.
  struct Keys {
    struct Key {
      Word word = Word::kNoWord;
      Value value;
    };
    std::vector<Key> list;
    KeySet set;
  };

  // `keys`: those of the pairs.
  Value Add(std::span<const Value> pairs, KeySet keys, std::uint64_t offset);
  // Of `pairs`, only the values are set.
  Value Add(std::span<const Value> pairs, const Keys& keys, std::uint64_t offset);
  // Removes an event that is inside something without meaning here, if it is the newest.
  void Forget(const Value& value);

  [[nodiscard]] bool timed() const { return timed_; }
  // Puts the events of the traces into `history`, with their domains, in the order in which they
  // were read. Events that no trace holds (under keys of later versions) are left out.
  void MoveTo(History& history);

 private:
  // The fields of an event that go into its label set.
  struct LabelFields {
    std::uint32_t context = 0;
    std::uint32_t metadata = 0;
    std::uint32_t internal = 0;
    std::uint32_t category = 0;
    std::uint64_t pool = 0;
    friend bool operator==(const LabelFields&, const LabelFields&) = default;
  };
  struct Draft {
    Event event;
    LabelFields labels;
    Word action = Word::kNoWord;
  };

  void Set(Draft& draft, Word word, const Value& key, const Value& value, std::uint64_t offset);
  Value AddDraft(Draft& draft, KeySet keys, std::uint64_t offset);
  void SetAction(Draft& draft, const Value& value, std::uint64_t offset);
  void Check(const Draft& draft, KeySet keys, std::uint64_t offset) const;
  std::uint32_t Text(const Value& value);
  std::uint32_t OtherText(const Value& value);
  LabelSetId Labels(const LabelFields& fields);

  Context& context_;
  OpaqueStore& opaque_values_;
  void MoveTrace(Trace& trace, std::uint64_t to, History& history);

  RowVector<Event> events_;
  std::vector<LabelSetId> labels_;  // empty until an event has labels
  std::vector<Moment> moments_;
  bool timed_ = false;
  MetadataLabels metadata_;
  LabelFields last_fields_;
  LabelSetId last_labels_{std::uint32_t{0}};
};

}  // namespace memtool::formats::torch_snapshot
