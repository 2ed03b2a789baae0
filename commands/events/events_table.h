// memtool events as a table: one event per row.
#pragma once

#include <cstddef>

#include "memtool/profile/answers/events.h"
#include "output/text_table.h"

namespace memtool::commands {

// The rows that the answer holds, or all as they are made; the answer must outlive the report. With
// EventsAnswer::stacks, stacks are shown whole.
TextTable EventsTable(const EventsAnswer& answer, std::size_t limit);

}  // namespace memtool::commands
