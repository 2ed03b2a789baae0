// Which of several inputs ran out of memory, and why: a row for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/oom.h"

namespace memtool {

struct OomInputRow {
  std::string input;  // path
  // The selection's moment of a snapshot, the chosen message of a log (ChooseMessage); none for a
  // log without a message. Its place has the rank, even where only the input's name has it.
  std::optional<OomCase> found{};
  std::int64_t failures = 0;  // messages, or out-of-memory events
};

struct OomInputsAnswer {
  AnswerHead head{.question = "oom-inputs", .sample_type = "memory", .unit = "bytes"};
  std::vector<OomInputRow> rows;
  std::int64_t failed = 0;
  // Rows are by time, failures first, where all failures have one, by one kind of clock; else as
  // they were added.
  bool by_time = false;
  std::optional<OomOrder> order{};                             // by time, where ranks are reported
  std::vector<std::pair<std::string, std::int64_t>> verdicts;  // how many failures of each, by name
};

namespace detail {

template <std::optional<Quantity> OomFacts::*kFact>
Value OomFact(const OomInputRow& row) {
  return row.found ? Value(Possible(row.found->facts.*kFact)) : Value();
}

}  // namespace detail

inline constexpr auto kOomInputFields = Fields<OomInputRow>({
    {"input", "INPUT", Unit::kText, &OomInputRow::input, "the file", kPath},
    {"device", "DEVICE", Unit::kText, kInWords, "the device, and where it is", Drop(4) | kFixed,
     "string"},
    {"asked", "ASKED", Unit::kBytes, detail::OomFact<&OomFacts::requested_bytes>,
     "the request that failed", Drop(1), "integer|null"},
    {"driver_free", "DRIVER FREE", Unit::kBytes, detail::OomFact<&OomFacts::free>,
     "what the driver had free", Drop(3), "integer|null"},
    {"live", "LIVE", Unit::kBytes,
     [](const OomInputRow& row) {
       return row.found ? Value(Possible(GetLive(*row.found))) : Value();
     },
     "what the program held", Drop(2), "integer|null"},
    {"cached", "CACHED", Unit::kBytes, detail::OomFact<&OomFacts::cached>,
     "what the allocator held and the program did not", Drop(5), "integer|null"},
    {"short_in_all", "", Unit::kBytes,
     [](const OomInputRow& row) {
       return row.found && row.found->judged() ? Value(row.found->verdict.short_in_all) : Value();
     },
     "by how much all that is free is too little", kPlain, "integer|null"},
    {"verdict", "WHY", Unit::kText,
     [](const OomInputRow& row) -> Value { return row.found ? VerdictName(*row.found) : "none"; },
     "why the request failed", kFixed,
     R"("fragmentation"|"full"|"limit"|"too-large"|"unexplained"|"unknown"|"none")"},
    {"close", "", Unit::kCount,
     [](const OomInputRow& row) -> Value { return row.found && row.found->verdict.close ? 1 : 0; },
     "whether rounding of the figures could change that", kPlain, "0|1"},
    {"failures", "", Unit::kCount, &OomInputRow::failures, "how many failures the input has",
     kPlain, "natural"},
    {"rank", "", Unit::kOrdinal,
     [](const OomInputRow& row) { return row.found ? Value(row.found->place.rank) : Value(); },
     "the rank of the process", kPlain, "integer|null"},
    {"time_us", "", Unit::kOrdinal,
     [](const OomInputRow& row) {
       const bool reported =
           row.found && row.found->time && (row.found->snapshot || HasYear(*row.found->time));
       return reported ? Value(*row.found->time / 1000) : Value();
     },
     "when it failed", kPlain, "integer|null"},
    {"line", "", Unit::kOrdinal,
     [](const OomInputRow& row) {
       return row.found && row.found->message ? Value(row.found->message->line) : Value();
     },
     "the line of the log", kPlain, "integer|null"},
    {"answer", "", Unit::kText, kInWords, "the verdict as a sentence", kPlain, "string|null"},
});

AnswerView MakeView(const OomInputsAnswer& answer);

// Adds inputs in the order of the rows.
class OomInputsMaker {
 public:
  // Preferably at its last failure (LastOom).
  void Add(const Selection& selection);
  // The message that ChooseMessage picks for `device`; none where there are no messages. Returns
  // false, and adds nothing, when none is of the device.
  bool Add(const OomMessages& messages, std::string_view device, std::string_view path);
  OomInputsAnswer Make() &&;

 private:
  void SortByTime();

  OomInputsAnswer answer_;
};

}  // namespace memtool
