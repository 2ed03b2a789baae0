// Buckets as rows: what `memtool buckets` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/rows/buckets.h"
#include "options/expected_options.h"
#include "output/plot/plot.h"
#include "output/report.h"
#include "session/session.h"

namespace memtool::commands {

struct BucketStyle {
  std::size_t entries = 0;  // per bucket; 0 = none
  bool percent_of_expected = true;
  bool nested_entries = false;  // JSON and CSV: in a column of their own instead of rows below
  std::string over_reason;      // why more may be tracked than was expected
};

// Fills columns, rows, totals and notes of `report`; head lines are the caller's.
void FillBuckets(const Session& session, const BucketTable& table,
                 const std::vector<BucketAxis>& axes, const std::optional<Expected>& expected,
                 const BucketStyle& style, Report& report);

// A panel for each axis, a bar for each table, which has the name of its input.
BarChart ChartOf(const std::vector<BucketTable>& tables, const std::vector<std::string>& names,
                 const std::optional<Expected>& expected, bool percent_of_expected, SizeUnit unit);

// Rows that say which word caught what.
void FillExplanation(const Session& session, const std::vector<Explanation>& rows, Report& report);

}  // namespace memtool::commands
