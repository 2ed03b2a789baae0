#include "memtool_file/event_unpacker.h"

#include <algorithm>

#include "memtool_file/row_unpacker.h"

namespace memtool::formats::memtool_file {

namespace {

constexpr std::uint64_t kActionBits = 15;
constexpr unsigned kOtherShift = 4;
constexpr std::uint32_t kNoOther = 0xffffffffU;

// Room for `rows` more events, and for all that the traces announce where that is not many times
// what is there: a vector that doubles has each event twice at times.
void Reserve(History& history, std::uint32_t rows, bool labels) {
  constexpr std::size_t kMaxTimes = 8;
  const std::size_t wanted = history.events.size() + rows;
  if (wanted <= history.events.capacity()) {
    return;
  }
  std::uint64_t announced = 0;
  for (const Trace& trace : history.traces) {
    announced = std::max(announced, std::min<std::uint64_t>(trace.first_event, kNoOther) +
                                        std::min<std::uint64_t>(trace.event_count, kNoOther));
  }
  if (announced < wanted) {
    return;  // more than announced: the vector doubles
  }
  const auto room = static_cast<std::size_t>(
      std::min<std::uint64_t>(announced, std::uint64_t{wanted} * kMaxTimes));
  history.events.reserve(room);
  if (labels) {
    history.labels.reserve(room);
  }
}

}  // namespace

void EventUnpacker::Read(SectionReader& in, EventColumn column, const char* name,
                         std::uint64_t count) {
  Of(column).at = 0;
  in.Numbers(column, name, count, Of(column).values);
}

// How many values each column has follows from the kinds.
void EventUnpacker::ReadColumns(SectionReader& in, bool labels) {
  const std::uint64_t rows = in.rows();
  Read(in, kKind, "kind", rows);
  std::uint64_t refer = 0;
  std::uint64_t open = 0;
  for (const std::uint64_t kind : Of(kKind).values) {
    const std::uint64_t action = kind & kActionBits;
    const std::uint64_t of = kind >> kOtherShift;
    if (action >= kActions || of > kActions) {
      in.Refuse("kind", fmt::format("there is no kind {}", kind));
    }
    refer += of != 0 ? 1 : 0;
    open += Opens(static_cast<Action>(action), of != 0) ? 1 : 0;
  }
  Read(in, kBack, "back", refer);
  Read(in, kKey, "key", rows - refer);
  Read(in, kSize, "size", open);
  Read(in, kSizeDifference, "size_difference", rows - open);
  Read(in, kTime, "time", rows);
  Read(in, kStack, "stack", open);
  Read(in, kOtherStack, "other_stack", rows - open);
  Read(in, kStream, "stream", rows);
  Read(in, kDomain, "ledger", rows);
  if (labels) {
    Read(in, kLabels, "labels", open);
    Read(in, kOtherLabels, "other_labels", rows - open);
  }
}

// The row of the event referred to: so many back among those of one action.
std::uint32_t EventUnpacker::Other(const SectionReader& in, std::uint64_t of) {
  if (of == 0) {
    return kNoOther;
  }
  const auto& rows = rows_.Of(static_cast<std::size_t>(of - 1));
  const std::uint64_t back = Of(kBack).Next();
  if (back >= rows.size()) {
    in.Refuse("back", fmt::format("refers to the event {} back among {}", back, rows.size()));
  }
  return rows[rows.size() - 1 - static_cast<std::size_t>(back)];
}

void EventUnpacker::AddLabels(const SectionReader& in, const Known& known, bool opens,
                              std::uint32_t other, History& history) {
  const std::uint64_t word = Of(opens ? kLabels : kOtherLabels).Next();
  const LabelSetId set =
      !opens && word == 0 ? history.labels[other] : ToValue<LabelSetId>(in, known, "labels", word);
  history.labels.push_back(set);
}

void EventUnpacker::Add(const SectionReader& in, const Known& known, std::uint64_t kind,
                        History& history) {
  const auto row = static_cast<std::uint32_t>(history.events.size());
  const std::uint32_t other = Other(in, kind >> kOtherShift);
  const bool refers = other != kNoOther;
  Event event;
  event.action = static_cast<Action>(kind & kActionBits);
  const auto& alike = rows_.Of(static_cast<std::size_t>(event.action));
  const Event like = refers           ? history.events[other]
                     : !alike.empty() ? history.events[alike.back()]
                                      : Event();
  const bool opens = Opens(event.action, refers);
  event.key = refers ? like.key : Of(kKey).Next();
  event.time = static_cast<std::int64_t>(Of(kTime).Next());
  if (opens) {
    event.size = static_cast<std::int64_t>(Of(kSize).Next());
    event.stack = ToValue<StackId>(in, known, "stack", Of(kStack).Next());
  } else {
    const std::uint64_t word = Of(kOtherStack).Next();
    event.size = static_cast<std::int64_t>(ToWord(like.size) + Of(kSizeDifference).Next());
    event.stack = word == 0 ? like.stack : ToValue<StackId>(in, known, "other_stack", word - 1);
  }
  event.stream = static_cast<std::uint16_t>(like.stream + Of(kStream).Next());
  event.domain = static_cast<std::uint8_t>(like.domain + Of(kDomain).Next());
  history.events.push_back(event);
  if (labels_) {
    AddLabels(in, known, opens, other, history);
  }
  rows_.Add(event.action, row);
}

void EventUnpacker::Unpack(SectionReader& in, const Known& known, bool labels, History& history) {
  labels_ = labels;
  if (history.events.size() >= kNoOther - in.rows()) {
    in.Refuse("rows", "more than 4,294,967,294 events");
  }
  ReadColumns(in, labels);
  Reserve(history, in.rows(), labels);
  for (const std::uint64_t kind : Of(kKind).values) {
    Add(in, known, kind, history);
  }
}

}  // namespace memtool::formats::memtool_file
