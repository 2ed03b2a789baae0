// Why memory ran out: of a snapshot at the moment that an allocation failed, or of one message in a
// log. What the device's memory consisted of, who held it, why it was not enough, and what helps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/account/ledger.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/oom_advice.h"
#include "memtool/profile/answers/oom_case.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

// For snapshots.
struct OomQuery {
  By by;  // what holders are
  SortBy sort = SortBy::kFlat;
  // Filters show only part of what is live, so the part that holders do not sum to is not listed.
  bool partial = false;
};

// A part of the whole, or, below the live part, who holds it. Parts sum to the whole.
struct OomRow {
  enum class Kind : std::uint8_t {
    kPart,  // `name`: OomPart::key
    kHolder,
    kBuffers,   // `count` buffers of a program, or chunks of an allocator, of one `shape`
    kRest,      // what a message does not list
    kUnlisted,  // in no block that the file lists
    kRounding,  // by how much blocks exceed what was requested
    kOthers,    // `count` holders as one, see FoldHolders
  };
  Kind kind = Kind::kPart;
  SharedText name;
  std::int64_t bytes = 0;
  double share = 0;  // of the whole
  std::int64_t precision = 0;
  SharedText file{};
  std::int64_t line = 0;  // 0 = none
  SharedText via{};       // the call into a framework, when frames were hidden
  std::size_t count = 1;
  std::string shape{};
  bool argument = false;     // kBuffers: passed into the program, so part of its arguments
  bool contradicts = false;  // kPart: OomPart::contradicts, so nobody knows it
};

// The name of a kBuffers row whose chunks have none: they are all of one size.
inline constexpr std::string_view kUnnamedChunks = "(unnamed)";

// Which rank ran out first, and which one next, `nanos` later.
struct OomOrder {
  int first = 0;
  int next = 0;
  std::int64_t nanos = 0;
};

// Another failure in the input.
struct OomOther {
  OomPlace place;
  std::optional<std::int64_t> requested_bytes;
  std::int64_t event = -1;   // of a snapshot
  std::int64_t message = 0;  // of a log: its number, from 1
  std::uint64_t line = 0;
};

struct OomAnswer {
  AnswerHead head{.question = "oom"};
  std::optional<OomCase> found;  // none: a log without a message
  std::vector<OomRow> rows;
  std::vector<OomAdvice> advice;
  std::vector<OomOther> others;  // the first of them
  std::int64_t other_count = 0;  // all
  By by;                         // what holders are
  // Of a log.
  std::int64_t messages = 0;
  std::int64_t message = 0;         // the number of the one that is explained, from 1
  std::optional<OomOrder> order{};  // where its messages are of several ranks and have times
  // Attempts that failed and were repeated, of recordings too; of a log the last of them:
  std::int64_t retries = 0;
  std::optional<OomMessage> last_retry;
  std::int64_t killed = 0;  // the line that says that a process was killed by signal 9; 0: none
  std::int64_t log_lines = 0;
  std::int64_t log_bytes = 0;
  std::optional<Ledger> ledger{};  // what the log says was held before the failure, or at its end

  // What shares are of.
  [[nodiscard]] std::int64_t whole() const {
    return found && found->breakdown ? found->breakdown->whole.bytes : 0;
  }
};

inline constexpr auto kOomFields = Fields<OomRow>({
    {"kind", "", Unit::kText,
     [](const OomRow& row) -> Value { return row.kind == OomRow::Kind::kPart ? "part" : "holder"; },
     "a part of the memory, or who holds some of it", kPlain, R"("part"|"holder")"},
    {"name", "WHAT", Unit::kText, &OomRow::name, "which one", kWrap},
    {"bytes", "SIZE", Unit::kBytes,
     [](const OomRow& row) { return row.contradicts ? std::nullopt : std::optional(row.bytes); },
     "its size", kOrUnknown},
    {"share", "SHARE", Unit::kRatio,
     [](const OomRow& row) {
       return row.contradicts || row.share > 1 ? Value() : Value(row.share);
     },
     "SIZE as a share of the whole", Drop(1), "number|null"},
    {"precision", "", Unit::kBytes, &OomRow::precision, "by how much SIZE may be off", kPlain,
     "natural"},
    {"file", "", Unit::kText,
     [](const OomRow& row) { return row.file.empty() ? Value() : Value(row.file); },
     "the file that the name is in", kPlain, "string|null"},
    {"line", "", Unit::kOrdinal, [](const OomRow& row) { return LineValue(row.line); },
     "the line in that file"},
});

// Figures besides the rows: what was requested, free and lacking; "conclusion" is an object with
// reason, what is ruled out, and advice.
AnswerView MakeView(const OomAnswer& answer);

// The rows with all but the first `most` holders as one row, where that saves any.
std::vector<OomRow> FoldHolders(const OomAnswer& answer, std::size_t most);

// Requests that failed and were met later, as the reader of a recording counted them.
std::int64_t RetriesIn(const Recording& recording);

// At the selection's moment, preferably that of a failure (LastOom). Its recording has a history,
// and an allocator's state or an allocation that failed.
OomAnswer Oom(const Selection& selection, const OomQuery& query = {});

// A log's messages by line: `kept` are the first of all `found`. Valid as long as the log is.
struct OomMessages {
  const std::vector<OomMessage>& kept;
  std::int64_t found = 0;
  std::int64_t lines = 0;  // of the log
  std::int64_t bytes = 0;
  std::int64_t retries = 0;
  std::optional<OomMessage> last_retry{};
  std::int64_t killed = 0;
  std::span<const Statement> statements{};  // with texts of:
  const StringTable* strings = nullptr;

  // The number of the last that is kept; numbers count from 1.
  [[nodiscard]] std::int64_t last() const { return static_cast<std::int64_t>(kept.size()); }
  // `number`: from 1 to last().
  [[nodiscard]] const OomMessage& at(std::int64_t number) const {
    return kept[static_cast<std::size_t>(number - 1)];
  }
};

// The number of the message to explain, from 1: the one that was asked for (negative from the end;
// not checked); else the first of `device` (empty = any) that says what was requested, because
// later failures follow from it, or, of several about the same request, one with figures. A bare
// "out of memory" is used when there is no other. None when no message is of the device. Requires
// at least one message.
std::optional<std::int64_t> ChooseMessage(const OomMessages& messages,
                                          std::optional<std::int64_t> segment_size,
                                          std::string_view device);

// The other failures are set in the answer too. `number`: that of a kept message; 0 for a log
// without messages.
OomAnswer Oom(const OomMessages& messages, std::int64_t number, std::string_view path);

// All but message `number`, into `answer`.
void AddOthers(const OomMessages& messages, std::int64_t number, OomAnswer& answer);

}  // namespace memtool
