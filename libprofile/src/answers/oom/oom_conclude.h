// What follows from the figures of a case.
#pragma once

#include "memtool/profile/answers/oom_case.h"

namespace memtool {

// Fills in ladder and verdict from the facts.
void Judge(OomCase& found);
// Then the conclusion from these.
void Conclude(OomCase& found);

}  // namespace memtool
