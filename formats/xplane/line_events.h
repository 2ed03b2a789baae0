// The events of a plane's lines, one after the other → those about memory. A line is a
// thread: its spans nest, and those that are open around a memory event are that event's stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "memtool/formats/limits.h"
#include "memtool/profile/base/key_hash.h"
#include "support/byte_cursor.h"
#include "xplane/plane.h"
#include "xplane/stats.h"

namespace memtool::formats::xplane {

struct LineEvent {
  std::uint32_t name = 0;      // key of Plane::event_names
  std::int64_t offset_ps = 0;  // from its line's begin
  std::int64_t duration_ps = 0;
};

class LineEvents {
 public:
  // The names of `plane` must all be there; it and `space` must outlive this.
  LineEvents(Plane& plane, Space& space, const Limits& limits);

  // One event's message. Throws ReadError.
  void Add(ByteCursor cursor);
  // One event that has been decoded, with those of its stats that have a key. Throws ReadError.
  void Add(const LineEvent& event, std::span<const KeyedStat> stats);
  // The name of the line that is read.
  void NameLine(std::string_view thread);
  // The line that the events since the last one are of. Throws ReadError.
  void EndLine(std::int64_t begin_ns);

 private:
  enum class Role : std::uint8_t { kNone, kSpan, kPython, kMemory };
  // What a key of a map means. Keys are small numbers, as a rule.
  template <class Meaning>
  class Table {
   public:
    void Set(std::uint32_t key, Meaning meaning) {
      if (key >= kDense) {
        others_[key] = meaning;
        return;
      }
      if (key >= dense_.size()) {
        dense_.resize(key + std::size_t{1});
      }
      dense_[key] = meaning;
    }
    [[nodiscard]] Meaning operator[](std::uint32_t key) const {
      if (key < dense_.size()) {
        return dense_[key];
      }
      const auto found = others_.find(key);
      return found == others_.end() ? Meaning{} : found->second;
    }

   private:
    static constexpr std::uint32_t kDense = 1U << 20U;
    std::vector<Meaning> dense_;
    KeyMap<std::uint32_t, Meaning> others_;
  };

  // The stats of a span that matter.
  struct Marks {
    std::optional<std::int64_t> produces;
    std::optional<std::int64_t> consumes;
    std::optional<std::int64_t> producer_type;
    std::optional<std::int64_t> consumer_type;
  };
  static constexpr std::uint32_t kPlain = std::numeric_limits<std::uint32_t>::max();
  // An event that waits for its turn.
  struct Item {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint32_t name = 0;
    std::uint32_t row = kPlain;  // of a memory event's in Plane::memory, else of marks_
    bool memory = false;
  };
  struct Open {
    std::int64_t end = 0;
    std::uint32_t name = 0;
    std::uint32_t node = 0;  // once something inside asks for it
    bool consumes = false;   // its flow is the next of consumed_
  };

  void ReadStats(ByteCursor cursor, bool of_spans);
  void AddByRole(Role role, const LineEvent& event, std::span<const KeyedStat> stats);
  void AddMemory(const LineEvent& event, std::span<const KeyedStat> stats);
  // The marks of a span; sets `step` to the number of the step that it is, if it is one.
  static Marks ReadMarks(std::span<const KeyedStat> stats, std::optional<std::int64_t>& step);
  void AddSpan(const LineEvent& event, std::span<const KeyedStat> stats);
  void AddStep(const LineEvent& event, std::int64_t number);
  void NoteText(const KeyedStat& keyed, MemoryEvent& memory);
  [[nodiscard]] std::uint32_t ToText(const Stat& stat);
  void Push(const Item& item);
  void Flush(bool last);
  void Enter(const Item& item);
  void EnterMarked(const Item& item);
  void Close();
  std::uint32_t NodeOfInnermost();
  void CheckRows(std::size_t rows) const;

  std::uint64_t at_ = 0;  // of the last event
  Plane& plane_;
  Space& space_;
  const Limits& limits_;
  Table<Role> roles_;
  Table<StatKey> keys_;
  std::vector<KeyedStat> stats_;  // of the last event

  std::vector<Item> items_;
  std::vector<Marks> marks_;  // of items_
  bool sorted_ = true;  // items_ are, by begin; of those that begin together, callers come first
  bool hold_ = false;   // they are not: the line has to be there as a whole
  std::int64_t entered_ = std::numeric_limits<std::int64_t>::min();  // begin of the last one
  std::vector<Open> open_;
  std::vector<FlowEnd> consumed_;  // of spans of open_, in their order
  std::size_t kept_before_ = 0;
  bool python_ = false;                    // the plane has functions of Python
  bool line_python_ = false;               // the line has
  bool runtime_ = false;                   // its thread is one of the runtime's, by its name
  std::vector<std::uint32_t> line_spans_;  // around its memory events
};

}  // namespace memtool::formats::xplane
