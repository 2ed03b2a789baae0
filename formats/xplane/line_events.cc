#include "xplane/line_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "support/read_error.h"
#include "support/wire.h"
#include "xplane/stats.h"

namespace memtool::formats::xplane {

namespace {

constexpr std::size_t kWindow = 4096;  // events that are looked at together

constexpr std::uint8_t TagOf(unsigned number, wire::Type type) {
  return static_cast<std::uint8_t>(number << 3U | type);
}

}  // namespace

LineEvents::Key LineEvents::KeyNamed(std::string_view name) {
  static constexpr std::pair<std::string_view, Key> kKeys[]{
      {"step_num", Key::kStep}, {"_p", Key::kProducer},      {"_pt", Key::kProducerType},
      {"_c", Key::kConsumer},   {"_ct", Key::kConsumerType},
  };
  const auto* it = std::find_if(std::begin(kKeys), std::end(kKeys),
                                [name](const auto& each) { return each.first == name; });
  return it == std::end(kKeys) ? Key::kNone : it->second;
}

LineEvents::LineEvents(Plane& plane, Space& space, const Limits& limits)
    : plane_(plane), space_(space), limits_(limits) {
  for (const auto& [key, name] : plane.event_names) {
    const bool memory = name == "MemoryAllocation" || name == "MemoryDeallocation";
    roles_.Set(key, memory ? Role::kMemory : Role::kSpan);
  }
  for (const auto& [key, name] : plane.stat_names) {
    if (const Key meaning = KeyNamed(name); meaning != Key::kNone) {
      keys_.Set(key, meaning);
    }
  }
}

void LineEvents::Add(ByteCursor cursor) {
  ++space_.events;
  at_ = cursor.offset();
  RawEvent event;
  std::uint64_t id = 0;
  std::span<const std::byte> stats;
  const auto number = [&cursor] {
    cursor.Byte();
    return cursor.Varint();
  };
  while (!cursor.done()) {
    // Three numbers, then stats, as all are written.
    const std::uint8_t tag = cursor.Peek();
    if (tag == TagOf(4, wire::kLength)) {
      stats = cursor.rest();  // the rest are stats, or is read as such
      break;
    }
    if (tag == TagOf(1, wire::kVarint)) {
      id = number();
    } else if (tag == TagOf(2, wire::kVarint)) {
      event.offset_ps = static_cast<std::int64_t>(number());
    } else if (tag == TagOf(3, wire::kVarint)) {
      event.duration_ps = static_cast<std::int64_t>(number());
    } else if (const wire::Field field = wire::Next(cursor); field.number <= 3) {
      field.Expect(wire::kVarint, "event");
    }
  }
  const auto key = KeyOf(id);
  if (!key || event.duration_ps < 0) {
    ++space_.bad_events;
    return;
  }
  // An event without either says neither who nor what.
  if (event.duration_ps == 0 && stats.empty()) {
    return;
  }
  event.name = *key;
  switch (roles_[*key]) {
    case Role::kNone:
      ++space_.bad_events;
      break;
    case Role::kSpan:
      AddSpan(event, stats);
      break;
    case Role::kMemory:
      AddMemory(event, stats);
      break;
  }
}

void LineEvents::CheckRows(std::size_t rows) const {
  if (rows >= limits_.samples) {
    ThrowRead(ErrorCode::kLimit, at_, "event",
              fmt::format("more than {} events (--limit samples)", limits_.samples));
  }
}

void LineEvents::Keep(RawEvent event, std::span<const std::byte> stats,
                      std::vector<RawEvent>& rows) {
  CheckRows(rows.size());
  event.line = static_cast<std::uint32_t>(plane_.lines.size());
  event.stats_at = plane_.stats_pool.size();
  event.stats_size = static_cast<std::uint32_t>(stats.size());
  plane_.stats_pool.insert(plane_.stats_pool.end(), stats.begin(), stats.end());
  rows.push_back(event);
}

void LineEvents::AddMemory(const RawEvent& event, std::span<const std::byte> stats) {
  Keep(event, stats, plane_.memory);
  Push({.begin = event.offset_ps,
        .end = event.offset_ps,
        .name = event.name,
        .row = static_cast<std::uint32_t>(plane_.memory.size() - 1),
        .memory = true});
}

void LineEvents::AddSpan(const RawEvent& event, std::span<const std::byte> stats) {
  Item item{.begin = event.offset_ps,
            .end = SaturatingAdd(event.offset_ps, event.duration_ps),
            .name = event.name};
  if (!stats.empty()) {
    const Marks marks = MarksOf(stats);
    if (event.duration_ps == 0 && !marks.produces) {
      return;
    }
    if (marks.step) {
      Keep(event, stats, plane_.steps);
    }
    if (marks.produces || marks.consumes) {
      item.row = static_cast<std::uint32_t>(marks_.size());
      marks_.push_back(marks);
    }
  }
  Push(item);
}

LineEvents::Marks LineEvents::MarksOf(std::span<const std::byte> stats) const {
  Marks marks;
  ByteCursor cursor(stats, 0);
  while (!cursor.done()) {
    const wire::Field field = wire::Next(cursor);
    if (field.number != 4 || field.type != wire::kLength) {
      continue;
    }
    // The id comes first in all but strange files; most are of stats that do not matter.
    ByteCursor head(field.bytes, 0);
    if (!head.done() && head.Byte() == TagOf(1, wire::kVarint)) {
      const auto key = KeyOf(head.Varint());
      if (!key || keys_[*key] == Key::kNone) {
        continue;
      }
    }
    const Stat stat = StatOf(ByteCursor(field.bytes, 0));
    if (const Key key = keys_[stat.name]; key != Key::kNone) {
      if (const auto figure = FigureOf(stat)) {
        Note(key, *figure, marks);
      }
    }
  }
  return marks;
}

void LineEvents::Note(Key key, std::int64_t figure, Marks& marks) const {
  switch (key) {
    case Key::kStep:
      marks.step = figure;
      break;
    case Key::kProducer:
      marks.produces = figure;
      break;
    case Key::kConsumer:
      marks.consumes = figure;
      break;
    case Key::kProducerType:
      marks.producer_type = figure;
      break;
    case Key::kConsumerType:
      marks.consumer_type = figure;
      break;
    case Key::kNone:
      break;
  }
}

void LineEvents::Push(const Item& item) {
  if (!items_.empty()) {
    const Item& before = items_.back();
    sorted_ = sorted_ &&
              (before.begin != item.begin ? before.begin < item.begin : before.end >= item.end);
  } else {
    sorted_ = item.begin >= entered_;
  }
  items_.push_back(item);
  if (items_.size() >= kWindow && !hold_) {
    Flush(false);
  }
}

// What profilers write is in order. What is not is sorted when the whole line is there.
void LineEvents::Flush(bool last) {
  hold_ = hold_ || !sorted_;
  if (hold_ && !last) {
    CheckRows(items_.size());
    return;
  }
  if (hold_) {
    std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
  }
  for (const Item& item : items_) {
    Enter(item);
  }
  items_.clear();
  marks_.clear();
}

void LineEvents::Enter(const Item& item) {
  // The spans around it may have gone by.
  if (item.begin < entered_) {
    plane_.late += item.memory ? 1 : 0;
    return;
  }
  entered_ = item.begin;
  if (item.memory) {
    // A span that ends with an event is still around it.
    while (!open_.empty() && open_.back().end < item.begin) {
      Close();
    }
    plane_.memory[item.row].node = NodeOfInnermost();
    return;
  }
  while (!open_.empty() && open_.back().end <= item.begin) {
    Close();
  }
  // A span that outlives its caller ends with it, so that open spans always nest.
  open_.push_back(
      {.end = open_.empty() ? item.end : std::min(item.end, open_.back().end), .name = item.name});
  if (item.row != kPlain) {
    EnterMarked(item);
  }
}

void LineEvents::EnterMarked(const Item& item) {
  const Marks& marks = marks_[item.row];
  const auto line = static_cast<std::uint32_t>(plane_.lines.size());
  if (marks.consumes) {
    open_.back().consumes = true;
    consumed_.push_back({.type = marks.consumer_type,
                         .id = *marks.consumes,
                         .offset_ps = item.begin,
                         .line = line});
  }
  if (marks.produces) {
    CheckRows(plane_.producers.size());
    plane_.producers.push_back({.type = marks.producer_type,
                                .id = *marks.produces,
                                .offset_ps = item.begin,
                                .line = line,
                                .node = NodeOfInnermost()});
  }
}

void LineEvents::Close() {
  if (open_.back().consumes) {
    consumed_.pop_back();
  }
  open_.pop_back();
}

std::uint32_t LineEvents::NodeOfInnermost() {
  std::size_t at = open_.size();
  std::size_t flow = consumed_.size();
  for (; at > 0 && open_[at - 1].node == 0; --at) {
    flow -= open_[at - 1].consumes ? 1 : 0;
  }
  std::uint32_t node = at > 0 ? open_[at - 1].node : 0;
  for (; at < open_.size(); ++at) {
    Open& span = open_[at];
    if (span.consumes) {
      // Each has a stack of its own, which begins elsewhere.
      node = plane_.spans.New(node, span.name);
      plane_.consumers.push_back(consumed_[flow++]);
      plane_.consumers.back().node = node;
    } else {
      node = plane_.spans.Of(node, span.name);
    }
    span.node = node;
  }
  CheckRows(plane_.spans.size());
  return node;
}

void LineEvents::EndLine(std::int64_t begin_ns) {
  Flush(true);
  const std::size_t kept = plane_.memory.size() + plane_.steps.size() + plane_.producers.size();
  if (kept > kept_before_) {
    CheckRows(plane_.lines.size());
    plane_.lines.push_back(begin_ns);
    kept_before_ = kept;
  }
  open_.clear();
  consumed_.clear();
  hold_ = false;
  entered_ = std::numeric_limits<std::int64_t>::min();
}

}  // namespace memtool::formats::xplane
