// Buckets as tables: rows with bars, entries below their bucket, notes.
#pragma once

#include "memtool/profile/answers/buckets.h"
#include "output/text_table.h"
#include "session/input_reader.h"

namespace memtool::commands {

// Columns and rows; empty buckets become a note. `width`: of the terminal, 0 = none.
void TabulateBuckets(const InputReader& input_reader, const BucketsAnswer& answer, unsigned width,
                     TextTable& table);
// What the figures of the answer mean, as lines below the table.
void AddBucketNotes(const InputReader& input_reader, const BucketsAnswer& answer, TextTable& table);
// What divides the blocks from before the recording.
void AddBaseNotes(const BucketsAnswer& answer, TextTable& table);
// Words of a user's dictionary that are usually mistakes.
void AddWordNotes(const BucketsAnswer& answer, TextTable& table);

// Which word matched what; `limit`: rows, 0 = all.
void TabulateExplanation(const InputReader& input_reader, const ExplainAnswer& answer,
                         std::size_t limit, TextTable& table);

}  // namespace memtool::commands
