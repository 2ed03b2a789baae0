// memtool events --id: what became of one block, in a sentence.
#pragma once

#include <string>

#include "memtool/profile/answers/events.h"

namespace memtool::commands {

// `zero`: the file's first time, from which times are counted.
std::string StoryText(const BlockStory& story, std::int64_t zero);

}  // namespace memtool::commands
