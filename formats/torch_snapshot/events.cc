#include "torch_snapshot/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "support/read_error.h"

namespace memtool::formats::torch_snapshot {

namespace {

// Labels are text or one number each.
Label TextLabel(RecordingBuilder& builder, Word key, std::uint32_t text) {
  return {.key = builder.Intern(kWords[static_cast<std::size_t>(key)]), .text = StringId(text)};
}

Action ToAction(Word word) {
  switch (word) {
    case Word::kAlloc:
      return Action::kAlloc;
    case Word::kFreeRequested:
      return Action::kFreeRequested;
    case Word::kFreeCompleted:
      return Action::kFreeCompleted;
    case Word::kSegmentAlloc:
      return Action::kSegmentAlloc;
    case Word::kSegmentFree:
      return Action::kSegmentFree;
    case Word::kSegmentMap:
      return Action::kSegmentMap;
    case Word::kSegmentUnmap:
      return Action::kSegmentUnmap;
    case Word::kOom:
      return Action::kOom;
    case Word::kSnapshot:
      return Action::kMark;
    case Word::kAnnotate:
      return Action::kAnnotate;
    default:
      return Action::kOther;
  }
}

bool OfSegments(Action action) {
  return action >= Action::kSegmentAlloc && action <= Action::kSegmentUnmap;
}

}  // namespace

void EventTable::SetAction(Draft& draft, const Value& value, std::uint64_t offset) {
  draft.action = GetWord(value);
  draft.event.action = ToAction(draft.action);
  const bool known = draft.event.action != Action::kOther || draft.action == Word::kUserDefined;
  if (!known) {
    constexpr std::size_t kMaxTextBytes = 80;
    context_.notes.Add(
        Severity::kWarning, "unknown_action",
        fmt::format("events of a kind that this version does not know: {}",
                    context_.builder.Text(Field(value, Word::kAction, offset).String())
                        .substr(0, kMaxTextBytes)),
        offset);
  }
}

// Metadata is text, or a dict in some tools.
std::uint32_t EventTable::OtherText(const Value& value) {
  switch (value.kind) {
    case ValueKind::kNone:
    case ValueKind::kEmptyDict:
    case ValueKind::kEmptyList:
      return 0;
    default:
      Forget(value);  // a dict that only looks like an event
      return context_.builder.Intern(opaque_values_.Line(value)).value();
  }
}

[[gnu::always_inline]] inline std::uint32_t EventTable::Text(const Value& value) {
  return value.kind == ValueKind::kString ? value.Low() : OtherText(value);
}

// Inline: this runs for every field of every event.
[[gnu::always_inline]] inline void EventTable::Set(Draft& draft, Word word, const Value& key,
                                                   const Value& value, std::uint64_t offset) {
  const Field field(value, word, offset);
  switch (word) {
    case Word::kAction:
      return SetAction(draft, value, offset);
    case Word::kAddr:
    case Word::kDeviceFree:
      draft.event.key = field.Address();
      return;
    case Word::kSize:
      draft.event.size = field.Size();
      return;
    case Word::kStream:
      draft.event.stream = context_.streams.Index(field.Address(), offset);
      return;
    case Word::kTimeUs:
      draft.event.time = field.Nanos();
      timed_ = true;
      return;
    case Word::kFrames:
      draft.event.stack = field.Stack();
      return;
    case Word::kCompileContext:
      draft.labels.context = Text(value);
      return;
    case Word::kUserMetadata:
      draft.labels.metadata = Text(value);
      return;
    case Word::kInternalMetadata:
      draft.labels.internal = Text(value);
      return;
    case Word::kCategory:
      draft.labels.category = Text(value);
      return;
    case Word::kPoolId:
      draft.labels.pool = value.kind == kind::kPair ? value.payload : 0;
      return;
    case Word::kForwardFrames:
    case Word::kDevice:
      return;
    default:
      context_.UnknownKey("an event", key, offset);
      Forget(value);
  }
}

void EventTable::Check(const Draft& draft, KeySet keys, std::uint64_t offset) const {
  const Action action = draft.event.action;
  if (action == Action::kMark || action == Action::kAnnotate || action == Action::kOther) {
    return;
  }
  if (!keys.Has(Word::kSize) || (action != Action::kOom && !keys.Has(Word::kAddr))) {
    ThrowRead(ErrorCode::kMalformed, offset, fmt::format("event[{}]", events_.size()),
              fmt::format("{} without {}", kWords[static_cast<std::size_t>(draft.action)],
                          keys.Has(Word::kSize) ? "addr" : "size"));
  }
}

Value EventTable::Add(std::span<const Value> pairs, KeySet keys, std::uint64_t offset) {
  Draft draft;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    Set(draft, GetWord(pairs[i]), pairs[i], pairs[i + 1], offset);
  }
  return AddDraft(draft, keys, offset);
}

Value EventTable::Add(std::span<const Value> pairs, const Keys& keys, std::uint64_t offset) {
  Draft draft;
  const Value* value = pairs.data() + 1;
  for (const Keys::Key& key : keys.list) {
    Set(draft, key.word, key.value, *value, offset);
    value += 2;
  }
  return AddDraft(draft, keys.set, offset);
}

[[gnu::always_inline]] inline Value EventTable::AddDraft(Draft& draft, KeySet keys,
                                                         std::uint64_t offset) {
  if (events_.size() >= std::numeric_limits<std::uint32_t>::max()) {
    ThrowRead(ErrorCode::kLimit, offset, {}, "more than 4,294,967,295 events");
  }
  Check(draft, keys, offset);
  context_.seen.bits |= keys.bits;
  const auto row = static_cast<std::uint32_t>(events_.size());
  if (draft.event.action == Action::kMark) {
    moments_.push_back({row, StringId(static_cast<std::uint32_t>(draft.action))});
  }
  draft.event.domain = OfSegments(draft.event.action) ? kSegmentsDomain : kBlocksDomain;
  events_.push_back(draft.event);
  const LabelSetId set = Labels(draft.labels);
  if (set.value() != 0 || !labels_.empty()) {
    labels_.resize(row, LabelSetId(std::uint32_t{0}));
    labels_.push_back(set);
  }
  Value value = Value::OfRows(kind::kEvent, row, 1);
  value.row = true;
  return value;
}

LabelSetId EventTable::Labels(const LabelFields& fields) {
  if (fields == last_fields_) {
    return last_labels_;
  }
  RecordingBuilder& builder = context_.builder;
  std::vector<Label> set;
  constexpr auto kNotAvailable = static_cast<std::uint32_t>(Word::kNotAvailable);
  if (fields.context != 0 && fields.context != kNotAvailable) {
    set.push_back(TextLabel(builder, Word::kCompileContext, fields.context));
  }
  if (fields.metadata != 0) {
    metadata_.AddTo(set, fields.metadata, builder);
  }
  if (fields.internal != 0) {
    set.push_back(TextLabel(builder, Word::kInternalMetadata, fields.internal));
  }
  if (fields.category != 0) {
    set.push_back(TextLabel(builder, Word::kCategory, fields.category));
  }
  if (fields.pool != 0) {
    const std::string pool =
        fmt::format("({}, {})", static_cast<std::uint32_t>(fields.pool), fields.pool >> 32U);
    set.push_back({.key = builder.Intern("pool"),
                   .text = builder.Intern(pool),
                   .unit = StringId(std::uint32_t{0})});
  }
  last_fields_ = fields;
  last_labels_ = builder.InternLabels(set);
  return last_labels_;
}

void EventTable::Forget(const Value& value) {
  const bool event = value.kind == kind::kEvent || value.kind == kind::kEvents;
  if (!event || value.shared || std::uint64_t{value.Low()} + value.High() != events_.size()) {
    return;
  }
  events_.resize(value.Low());
  labels_.resize(std::min<std::size_t>(labels_.size(), events_.size()),
                 LabelSetId(std::uint32_t{0}));
  while (!moments_.empty() && moments_.back().row >= events_.size()) {
    moments_.pop_back();
  }
}

// Moves one trace's events down to row `to`.
void EventTable::MoveTrace(Trace& trace, std::uint64_t to, History& history) {
  const std::uint64_t from = trace.first_event;
  const auto domain = static_cast<std::uint8_t>(trace.segments.value());
  for (std::uint64_t i = 0; (domain != 0 || from != to) && i < trace.event_count; ++i) {
    Event event = events_[from + i];
    event.domain = static_cast<std::uint8_t>(event.domain + domain);
    events_[to + i] = event;
    if (!labels_.empty()) {
      labels_[to + i] = labels_[from + i];
    }
  }
  for (const Moment& moment : moments_) {
    if (moment.row >= from && moment.row - from < trace.event_count) {
      history.marks.push_back({.name = std::string(context_.builder.Text(moment.name)),
                               .device = trace.device,
                               .begin = events_[to + moment.row - from].time});
    }
  }
  trace.first_event = to;
}

void EventTable::MoveTo(History& history) {
  std::vector<Trace*> order;
  for (Trace& trace : history.traces) {
    if (trace.event_count > 0) {
      order.push_back(&trace);
    } else {
      trace.first_event = 0;
    }
  }
  std::sort(order.begin(), order.end(),
            [](const Trace* a, const Trace* b) { return a->first_event < b->first_event; });
  if (!labels_.empty()) {
    labels_.resize(events_.size(), LabelSetId(std::uint32_t{0}));
  }
  std::uint64_t end = 0;   // of the rows that belong to a trace, as read
  std::uint64_t kept = 0;  // the same without the gaps
  for (Trace* trace : order) {
    // Events that two traces share would be counted twice.
    if (trace->first_event < end) {
      ThrowRead(ErrorCode::kUnsupported, 0, "device_traces",
                "the events of two devices are the same list");
    }
    end = trace->first_event + trace->event_count;
    MoveTrace(*trace, kept, history);
    kept += trace->event_count;
  }
  events_.resize(kept);
  labels_.resize(labels_.empty() ? 0 : kept);
  history.events = std::move(events_);
  history.labels = std::move(labels_);
}

}  // namespace memtool::formats::torch_snapshot
