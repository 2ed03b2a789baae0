// memtool events --id: what became of one block, in a sentence.
#pragma once

#include <string>
#include <vector>

#include "events/events_rows.h"

namespace memtool::commands {

// `listed`: all events about the block within the range. Tells also of blocks that no event is
// about: those that were there before the recording and live to its end.
std::string StoryOf(const View& view, EventNames& names, const EventRows& rows, const BlockId& id,
                    const std::vector<ListedEvent>& listed);

}  // namespace memtool::commands
