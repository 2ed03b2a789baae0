#include "events/events_story.h"

#include <fmt/format.h>

#include "memtool/profile/base/sizes.h"
#include "memtool/profile/select/view.h"

namespace memtool::commands {

namespace {

bool Ends(Action action) {
  return action == Action::kFreeCompleted || action == Action::kSegmentFree ||
         action == Action::kSegmentUnmap;
}

bool Begins(Action action) {
  return action == Action::kAlloc || action == Action::kSegmentAlloc ||
         action == Action::kSegmentMap;
}

// How many blocks or segments at the address have gone by the end of the file.
std::uint64_t GoneAt(const History& history, const BlockId& id) {
  std::uint64_t gone = 0;
  for (const Event& event : history.events) {
    const bool block = event.action == Action::kFreeCompleted;
    gone += Ends(event.action) && event.key == id.address && block != id.segment ? 1 : 0;
  }
  return gone;
}

const Block* BlockAtEnd(const Recording& recording, std::uint64_t address) {
  if (recording.state) {
    for (const Block& block : recording.state->blocks) {
      if (block.address == address && block.state != BlockState::kInactive) {
        return &block;
      }
    }
  }
  return nullptr;
}

// No event is about it.
std::string Absent(const Recording& recording, EventNames& names, const BlockId& id) {
  const std::uint64_t gone = GoneAt(*recording.history, id);
  const Block* block = id.segment ? nullptr : BlockAtEnd(recording, id.address);
  if (id.version == gone && block != nullptr) {
    return fmt::format("{}: {}, no event is about it; it lives at the end of the file; by {}",
                       ToString(id), FormatSize(block->requested), names.Short(block->stack));
  }
  return fmt::format("{}: no event chosen is about it; frees at this address number {} in the file",
                     ToString(id), FormatCount(static_cast<std::int64_t>(gone)));
}

std::string Place(const EventRows& rows, const ListedEvent& listed) {
  const std::string when = rows.When(listed.event->time);
  return fmt::format("event {}{}", FormatCount(listed.number), when.empty() ? "" : ", " + when);
}

}  // namespace

std::string StoryOf(const View& view, EventNames& names, const EventRows& rows, const BlockId& id,
                    const std::vector<ListedEvent>& listed) {
  if (listed.empty()) {
    return Absent(view.recording(), names, id);
  }
  const ListedEvent* begin = nullptr;
  const ListedEvent* end = nullptr;
  for (const ListedEvent& event : listed) {
    begin = begin == nullptr && Begins(event.event->action) ? &event : begin;
    end = Ends(event.event->action) ? &event : end;
  }
  std::string text = ToString(id) + ": " + FormatSize(listed.front().event->size);
  text += begin != nullptr
              ? " allocated at " + Place(rows, *begin) + " by " + names.Short(begin->stack)
              : " allocated before the events shown";
  if (end == nullptr) {
    return text + "; not freed in them";
  }
  text += "; freed at " + Place(rows, *end);
  if (begin != nullptr) {
    const Trace& trace = view.recording().history->traces[begin->trace];
    text += "; lived " + rows.Lived(trace, begin->number, end->number);
  }
  return text;
}

}  // namespace memtool::commands
