// What the tables of an out-of-memory message say, in words: of a program of XLA and of the
// allocator's dump. WholeText() of oom_words.h is here as well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/oom.h"
#include "oom/oom_words.h"

namespace memtool::commands {

// The explanation when only the program's table is known.
std::string ProgramOnly(const OomCase& found);
// What a part of a program's ladder is: "temporaries".
std::string ProgramPartText(std::string_view part);
// Rows of the message's tables that could not be read.
std::int64_t DamagedRows(const OomCase& found);
// What is reported besides the parts of the whole.
void AddKnown(const OomCase& found, std::vector<OomSentence>& sentences);
// "held by dot_general  model.py:120  f32[32,4096,4096]  12 buffers"
std::string BuffersText(const OomCase& found, const OomRow& row);

}  // namespace memtool::commands
