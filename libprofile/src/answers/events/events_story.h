// What became of one block, from the events about it.
#pragma once

#include "memtool/profile/answers/events.h"

namespace memtool {

class StoryBuilder {
 public:
  // Keeps the names by reference.
  StoryBuilder(const BlockId& id, StackNames& names) : names_(names), story_{.id = id} {}

  // All events about the block within the range, in order.
  void Add(const ListedEvent& listed);
  // Tells also of blocks that no event is about: those that were there before the recording and
  // live to its end.
  [[nodiscard]] BlockStory BuildStory(const Recording& recording);

 private:
  [[nodiscard]] BlockStory::End GetEnd(const ListedEvent& listed);

  StackNames& names_;
  BlockStory story_;
};

}  // namespace memtool
