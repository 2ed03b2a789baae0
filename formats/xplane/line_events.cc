#include "xplane/line_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/select/xla_names.h"
#include "support/read_error.h"
#include "support/wire.h"
#include "xplane/stats.h"

namespace memtool::formats::xplane {

namespace {

constexpr std::size_t kWindow = 4096;  // events that are looked at together

constexpr std::uint8_t GetTag(unsigned number, wire::Type type) {
  return static_cast<std::uint8_t>(number << 3U | type);
}

// The stats of a memory event that are not kept as they are.
struct MemoryFigures {
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> address;
  std::optional<std::int64_t> available;
  std::optional<std::int64_t> reserved = 0;
  std::uint64_t negative = 0;  // of those that cannot be
};

void NoteFigure(const KeyedStat& keyed, MemoryEvent& memory, MemoryFigures& figures) {
  const auto figure = [&keyed] { return MakeFigure(keyed.stat); };
  const auto amount = [&]() -> std::optional<std::int64_t> {
    const auto found = figure();
    if (found && *found < 0) {
      ++figures.negative;
      return std::nullopt;
    }
    return found;
  };
  switch (keyed.key) {
    case StatKey::kReserved:
      figures.reserved = amount();
      break;
    case StatKey::kAllocated:
      memory.allocated = amount();
      break;
    case StatKey::kAvailable:
      figures.available = figure();  // below 0 where a limit was exceeded
      break;
    case StatKey::kPeak:
      memory.peak = amount();
      break;
    case StatKey::kRequested:
      memory.requested = amount().value_or(0);
      break;
    case StatKey::kBytes:
      figures.bytes = figure();
      break;
    case StatKey::kAddress:
      figures.address = figure();
      break;
    case StatKey::kDataType:
      memory.data_type = figure().value_or(0);
      break;
    default:
      break;
  }
}

}  // namespace

LineEvents::LineEvents(Plane& plane, Space& space, const Limits& limits)
    : plane_(plane), space_(space), limits_(limits) {
  for (const auto& [key, name] : plane.event_names) {
    const bool memory = name == "MemoryAllocation" || name == "MemoryDeallocation";
    const bool python = name.starts_with('$');
    python_ = python_ || python;
    roles_.Set(key, memory ? Role::kMemory : python ? Role::kPython : Role::kSpan);
  }
  for (const auto& [key, name] : plane.stat_names) {
    if (const StatKey meaning = ToStatKey(name); meaning != StatKey::kNone) {
      keys_.Set(key, meaning);
    }
  }
}

void LineEvents::Add(ByteCursor cursor) {
  ++space_.events;
  at_ = cursor.offset();
  LineEvent event;
  std::uint64_t id = 0;
  ByteCursor stats({}, 0);
  const auto number = [&cursor] {
    cursor.Byte();
    return cursor.Varint();
  };
  while (!cursor.done()) {
    // Three numbers, then stats, as all are written.
    const std::uint8_t tag = cursor.Peek();
    if (tag == GetTag(4, wire::kLength)) {
      stats = cursor;  // the rest are stats, or is read as such
      break;
    }
    if (tag == GetTag(1, wire::kVarint)) {
      id = number();
    } else if (tag == GetTag(2, wire::kVarint)) {
      event.offset_ps = static_cast<std::int64_t>(number());
    } else if (tag == GetTag(3, wire::kVarint)) {
      event.duration_ps = static_cast<std::int64_t>(number());
    } else if (const wire::Field field = wire::Next(cursor); field.number <= 3) {
      field.Expect(wire::kVarint, "event");
    }
  }
  const auto key = GetKey(id);
  const Role role = key ? roles_[*key] : Role::kNone;
  // An event without either says neither who nor what.
  if (key && event.duration_ps == 0 && stats.done()) {
    return;
  }
  if (role == Role::kNone || event.duration_ps < 0) {
    ++space_.bad_events;
    return;
  }
  event.name = *key;
  ReadStats(stats, role != Role::kMemory);
  AddByRole(role, event, stats_);
}

void LineEvents::Add(const LineEvent& event, std::span<const KeyedStat> stats) {
  ++space_.events;
  AddByRole(roles_[event.name], event, stats);
}

void LineEvents::AddByRole(Role role, const LineEvent& event, std::span<const KeyedStat> stats) {
  if (role == Role::kMemory) {
    AddMemory(event, stats);
  } else {
    line_python_ = line_python_ || role == Role::kPython;
    AddSpan(event, stats);
  }
}

// Decodes the stats that have a key; most have none.
void LineEvents::ReadStats(ByteCursor cursor, bool of_spans) {
  const auto matters = [of_spans](StatKey key) {
    return key != StatKey::kNone && (!of_spans || IsOfSpans(key));
  };
  stats_.clear();
  while (!cursor.done()) {
    const wire::Field field = wire::Next(cursor);
    if (field.number != 4 || field.type != wire::kLength) {
      continue;
    }
    // The id comes first in all but strange files.
    ByteCursor head(field.bytes, field.offset);
    if (!head.done() && head.Byte() == GetTag(1, wire::kVarint)) {
      const auto key = GetKey(head.Varint());
      if (!key || !matters(keys_[*key])) {
        continue;
      }
    }
    const Stat stat = ReadStat(ByteCursor(field.bytes, field.offset));
    if (const StatKey key = keys_[stat.name]; matters(key)) {
      stats_.push_back({.key = key, .stat = stat});
    }
  }
}

void LineEvents::CheckRows(std::size_t rows) const {
  if (rows >= limits_.samples) {
    ThrowRead(ErrorCode::kLimit, at_, "event",
              fmt::format("more than {} events (--max samples)", limits_.samples));
  }
}

void LineEvents::AddMemory(const LineEvent& event, std::span<const KeyedStat> stats) {
  MemoryEvent memory{.time_ps = event.offset_ps};
  MemoryFigures figures;
  for (const KeyedStat& keyed : stats) {
    NoteText(keyed, memory);
    NoteFigure(keyed, memory, figures);
  }
  const auto& [bytes, address, available, reserved, negative] = figures;
  plane_.bad_figures += negative;
  const bool allocation = plane_.event_names.at(event.name) == "MemoryAllocation";
  memory.unsized = !allocation && !bytes;
  if ((!bytes && !memory.unsized) || bytes.value_or(0) < 0 || !address) {
    ++plane_.bad_memory;
    return;
  }
  memory.bytes = allocation ? *bytes : SaturatingSubtract(0, bytes.value_or(0));
  memory.address = static_cast<std::uint64_t>(*address);
  if (memory.allocated && available && *available >= 0 && reserved) {
    memory.capacity = SaturatingAdd(SaturatingAdd(*memory.allocated, *available), *reserved);
  }
  CheckRows(plane_.memory.size());
  memory.line = static_cast<std::uint32_t>(plane_.lines.size());
  plane_.memory.push_back(memory);
  Push({.begin = event.offset_ps,
        .end = event.offset_ps,
        .name = event.name,
        .row = static_cast<std::uint32_t>(plane_.memory.size() - 1),
        .memory = true});
}

void LineEvents::NoteText(const KeyedStat& keyed, MemoryEvent& memory) {
  switch (keyed.key) {
    case StatKey::kAllocator:
      memory.allocator = ToText(keyed.stat);
      break;
    case StatKey::kDevice:
      memory.allocator = memory.allocator == kNoText ? ToText(keyed.stat) : memory.allocator;
      break;
    case StatKey::kOp:
      memory.op = ToText(keyed.stat);
      break;
    case StatKey::kRegion:
      memory.region = ToText(keyed.stat);
      break;
    case StatKey::kShape:
      memory.shape = ToText(keyed.stat);
      break;
    default:
      break;
  }
}

// A row of Space::texts, or kNoText.
std::uint32_t LineEvents::ToText(const Stat& stat) {
  std::string_view text;
  std::string number;
  if (stat.kind == Stat::Kind::kText) {
    text = AsText(stat.bytes);
  } else if (stat.kind == Stat::Kind::kReference) {
    const auto found = plane_.stat_names.find(static_cast<std::uint32_t>(stat.integer));
    text = found == plane_.stat_names.end() ? std::string_view{} : found->second;
  } else if (const auto figure = MakeFigure(stat)) {
    text = number = std::to_string(*figure);  // an operation can be called "12"
  }
  return text.empty() || text == "(null)"
             ? kNoText
             : space_.texts.Intern(std::as_bytes(std::span(text.data(), text.size())));
}

LineEvents::Marks LineEvents::ReadMarks(std::span<const KeyedStat> stats,
                                        std::optional<std::int64_t>& step) {
  Marks marks;
  for (const auto& [key, stat] : stats) {
    const auto figure = IsOfSpans(key) ? MakeFigure(stat) : std::nullopt;
    if (!figure) {
      continue;
    }
    switch (key) {
      case StatKey::kStep:
        step = figure;
        break;
      case StatKey::kProducer:
        marks.produces = figure;
        break;
      case StatKey::kProducerType:
        marks.producer_type = figure;
        break;
      case StatKey::kConsumer:
        marks.consumes = figure;
        break;
      default:
        marks.consumer_type = figure;
    }
  }
  return marks;
}

void LineEvents::AddSpan(const LineEvent& event, std::span<const KeyedStat> stats) {
  std::optional<std::int64_t> step;
  const Marks marks = ReadMarks(stats, step);
  if (event.duration_ps == 0 && !marks.produces) {
    return;
  }
  if (step) {
    AddStep(event, *step);
  }
  Item item{.begin = event.offset_ps,
            .end = SaturatingAdd(event.offset_ps, event.duration_ps),
            .name = event.name};
  if (marks.produces || marks.consumes) {
    item.row = static_cast<std::uint32_t>(marks_.size());
    marks_.push_back(marks);
  }
  Push(item);
}

void LineEvents::AddStep(const LineEvent& event, std::int64_t number) {
  CheckRows(plane_.steps.size());
  plane_.steps.push_back({.name = plane_.event_names.at(event.name) + "#" + std::to_string(number),
                          .begin_ps = event.offset_ps,
                          .end_ps = SaturatingAdd(event.offset_ps, event.duration_ps),
                          .line = static_cast<std::uint32_t>(plane_.lines.size())});
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
    consumed_.push_back({.type = marks.consumer_type.value_or(0),
                         .id = *marks.consumes,
                         .offset_ps = item.begin,
                         .line = line});
  }
  if (marks.produces) {
    CheckRows(plane_.producers.size());
    plane_.producers.push_back({.type = marks.producer_type.value_or(0),
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
    line_spans_.push_back(span.name);
  }
  CheckRows(plane_.spans.size());
  return node;
}

void LineEvents::NameLine(std::string_view thread) {
  runtime_ = IsXlaRuntimeThread(thread);
}

void LineEvents::EndLine(std::int64_t begin_ns) {
  Flush(true);
  // Where functions of Python were recorded at all, a thread without any is the runtime's.
  if (!runtime_ && (line_python_ || !python_)) {
    plane_.code_spans.insert(line_spans_.begin(), line_spans_.end());
  }
  line_spans_.clear();
  line_python_ = runtime_ = false;
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
