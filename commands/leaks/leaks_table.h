// How memtool leaks shows a series: a row for each row that grew, with its shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memtool/profile/answers/leaks.h"
#include "output/tabulate.h"
#include "output/text_table.h"

namespace memtool::commands {

TableColumns<GrowthRow> LeaksColumns(const LeaksAnswer& answer);
// Notes below the table: what did not change, what is in no sum.
std::vector<std::string> LeaksNotes(const LeaksAnswer& answer);

}  // namespace memtool::commands
