// What the tables of an out-of-memory message add to an answer.
#pragma once

#include <cstdint>
#include <vector>

#include "memtool/profile/answers/oom.h"

namespace memtool {

// Message `number` with the tables that other messages of its process bring for the same request:
// the allocator, the runtime and Python each print one of their own.
OomMessage WithTables(const OomMessages& messages, std::int64_t number);

// The buffers of the program, or the chunks in use of the allocator.
std::vector<OomRow> TableHolders(const OomCase& found);

// "program", "pool" and "remat", where the message has them.
void AddTables(const OomMessage& message, std::vector<NamedValue>& figures);

}  // namespace memtool
