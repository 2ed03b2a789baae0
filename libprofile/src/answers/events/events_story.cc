#include "answers/events/events_story.h"

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

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

}  // namespace

BlockStory::End StoryBuilder::GetEnd(const ListedEvent& listed) {
  return {.trace = listed.trace,
          .event = listed.number,
          .time = listed.event->time,
          .who = &names_.Of(listed.stack)};
}

void StoryBuilder::Add(const ListedEvent& listed) {
  story_.size = story_.size ? story_.size : listed.event->size;
  if (Begins(listed.event->action) && !story_.begin) {
    story_.begin = GetEnd(listed);
  }
  if (Ends(listed.event->action)) {
    story_.end = GetEnd(listed);
  }
}

BlockStory StoryBuilder::BuildStory(const Recording& recording) {
  if (!story_.size) {
    story_.gone = GoneAt(*recording.history, story_.id);
    const Block* block = story_.id.segment ? nullptr : BlockAtEnd(recording, story_.id.address);
    if (block != nullptr && story_.id.version == story_.gone) {
      story_.at_end = {.requested = block->requested, .who = &names_.Of(block->stack)};
    }
    return story_;
  }
  // Devices may use one address; their clocks and numbers are not to be compared.
  const auto& begin = story_.begin;
  const auto& end = story_.end;
  if (begin && end && begin->trace == end->trace) {
    story_.lived_events = end->event - begin->event;
    if (begin->time != kNoTime && end->time != kNoTime) {
      story_.lived_nanos = SaturatingSubtract(end->time, begin->time);
    }
  }
  return story_;
}

}  // namespace memtool
