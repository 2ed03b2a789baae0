// Which questions an input can answer, by what it holds and not by who wrote it.
#pragma once

#include <string_view>
#include <vector>

#include "memtool/profile/model/recording.h"

namespace memtool {

// False for profiles of time, of locks, of threads: none of their samples are bytes.
bool IsOfMemory(const Recording& recording);
// In the order of the program's help; of questions about one input, not about a job or a pair.
std::vector<std::string_view> QuestionsFor(const Recording& recording);
// Whether QuestionsFor lists it. An answer may still have no rows, or its moment not be there.
bool CanAnswer(const Recording& recording, std::string_view question);

}  // namespace memtool
