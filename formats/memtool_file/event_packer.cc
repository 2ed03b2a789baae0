#include "memtool_file/event_packer.h"

#include "memtool/profile/base/key_hash.h"
#include "memtool_file/words.h"

namespace memtool::formats::memtool_file {

namespace {

constexpr std::size_t kFirstSlots = 1024;

// Whether `key` is an address or handle.
bool HasKey(Action action) {
  return action != Action::kOom && action != Action::kAdjust && action != Action::kMark;
}

}  // namespace

LastOfKey::LastOfKey(const RowVector<Event>& events)
    : events_(events), slots_(kFirstSlots, kNone) {}

std::size_t LastOfKey::Slot(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(HashNumber(key)) & mask;
  while (slots_[slot] != kNone && events_[slots_[slot]].key != key) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void LastOfKey::Grow() {
  std::vector<std::uint32_t> old(slots_.size() * 2, kNone);
  old.swap(slots_);
  for (const std::uint32_t row : old) {
    if (row != kNone) {
      slots_[Slot(events_[row].key)] = row;
    }
  }
}

std::uint32_t LastOfKey::Exchange(std::uint32_t row) {
  std::uint32_t& slot = slots_[Slot(events_[row].key)];
  const std::uint32_t before = slot;
  slot = row;
  if (before == kNone && ++used_ * 2 > slots_.size()) {
    Grow();
  }
  return before;
}

EventPacker::EventPacker(const History& history) : history_(history), last_(history.events) {
  ordinals_.reserve(history.events.size());
}

// What is written as a difference to `other`, the event referred to, if there is one.
void EventPacker::AddContents(std::uint32_t row, std::uint32_t other) {
  const Event& event = history_.events[row];
  const bool refers = other != LastOfKey::kNone;
  const bool labels = !history_.labels.empty();
  if (Opens(event.action, refers)) {
    Column(kSize).push_back(ToWord(event.size));
    Column(kStack).push_back(ToWord(event.stack));
    if (labels) {
      Column(kLabels).push_back(ToWord(history_.labels[row]));
    }
    return;
  }
  const Event& known = history_.events[other];
  const std::uint64_t size = ToWord(event.size);
  Column(kSizeDifference).push_back(size - ToWord(known.size));
  Column(kOtherStack).push_back(event.stack == known.stack ? 0 : ToWord(event.stack) + 1);
  if (labels) {
    const LabelSetId set = history_.labels[row];
    Column(kOtherLabels).push_back(set == history_.labels[other] ? 0 : ToWord(set));
  }
}

void EventPacker::Add(std::uint32_t row) {
  const Event& event = history_.events[row];
  const auto action = static_cast<std::size_t>(event.action);
  const std::uint32_t other = HasKey(event.action) ? last_.Exchange(row) : LastOfKey::kNone;
  std::uint64_t kind = action;
  if (other == LastOfKey::kNone) {
    Column(kKey).push_back(event.key);
  } else {
    const auto of = static_cast<std::size_t>(history_.events[other].action);
    kind |= (of + 1) << 4U;
    Column(kBack).push_back(std::uint64_t{counts_[of]} - 1 - ordinals_[other]);
  }
  Column(kKind).push_back(kind);
  Column(kTime).push_back(ToWord(event.time));
  AddContents(row, other);
  const Event none{};
  const Event& like = other != LastOfKey::kNone ? history_.events[other]
                      : counts_[action] > 0     ? history_.events[last_rows_[action]]
                                                : none;
  Column(kStream).push_back(ToWord(event.stream) - ToWord(like.stream));
  Column(kDomain).push_back(ToWord(event.domain) - ToWord(like.domain));
  ordinals_.push_back(counts_[action]++);
  last_rows_[action] = row;
}

void EventPacker::Pack(std::size_t first, std::size_t count, ColumnPacker& columns) {
  for (auto& column : columns_) {
    column.clear();
  }
  for (std::size_t row = first; row < first + count; ++row) {
    Add(static_cast<std::uint32_t>(row));
  }
  for (std::uint32_t number = kKind; number < columns_.size(); ++number) {
    columns.Numbers(number, columns_[number]);
  }
}

}  // namespace memtool::formats::memtool_file
