// The account of a process: from what the device has down to what its program's rows hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/account/account.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/rows/buckets.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

struct AccountQuery {
  // What the device says, and whoever asks: it wins over what the inputs tell.
  AccountFacts facts{};
};

// A step of the ladder, or a bucket of one: key "bucket:NAME", one level below its step.
struct AccountRow {
  AccountStep step;
  // Of the first known step that holds all that follow; none above it, and for unknown steps.
  std::optional<double> share{};
  std::string bucket{};                // its name
  std::vector<BucketEntry> entries{};  // of a bucket, the largest
  std::uint64_t more_entries = 0;      // that are not listed
};

// Pinned memory of the host in a log of the driver's calls: on no device, so in no step.
struct HostMemory {
  std::string input;
  std::int64_t bytes = 0;
};

struct AccountAnswer {
  AnswerHead head{.question = "account", .unit = "bytes"};
  AccountFacts facts;  // with what follows from two others
  std::vector<AccountRow> rows;
  std::vector<HostMemory> host;
};

// "fact", "difference", "unknown".
std::string_view KindKey(AccountStep::Kind kind);

inline constexpr auto kAccountFields = Fields<AccountRow>({
    {"step", "", Unit::kText, [](const AccountRow& row) { return Value(row.step.key); }},
    {"bytes", "SIZE", Unit::kBytes,
     [](const AccountRow& row) {
       return row.step.kind == AccountStep::Kind::kUnknown ? Value() : Value(row.step.bytes);
     }},
    {"precision", "", Unit::kBytes,
     [](const AccountRow& row) { return Value(row.step.precision); }},
    {"kind", "", Unit::kText, [](const AccountRow& row) { return Value(KindKey(row.step.kind)); }},
    {"source", "FROM", Unit::kText, [](const AccountRow& row) { return Value(row.step.source); }},
});

AnswerView ViewOf(const AccountAnswer& answer);

// Takes one input after the other: where two tell of a step, the first one has it.
class AccountMaker {
 public:
  explicit AccountMaker(AccountQuery query);
  AccountMaker(const AccountMaker&) = delete;
  AccountMaker& operator=(const AccountMaker&) = delete;

  // `keywords`: what splits the requested bytes into buckets, kept by reference; null where no
  // dictionary fits the input. Errors: those of RecordingBuilder::Finish.
  Result<void> Add(const Selection& selection, const Keywords* keywords);
  // A log of the driver's calls without what a snapshot beside it tells (FrameworkSegments): what
  // is recorded below the framework, split by `keywords`, which are kept by reference.
  Result<void> AddBeside(const Selection& log, const Keywords& keywords);
  AccountAnswer Make() &&;

 private:
  Result<Selection> LeaveHostOut(const Selection& log);
  Result<void> Take(const Selection& selection, const Keywords* keywords);
  void TakeFacts(const Selection& selection);
  void TakeCounters(const Selection& selection);

  AnswerHead head_{.question = "account"};
  AccountFacts facts_;
  std::vector<HostMemory> host_;
  NodeSpace space_;
  std::optional<BucketTable> requested_;
  std::optional<BucketTable> recorded_;
};

// Errors: those of AccountMaker::Add.
Result<AccountAnswer> Account(const Selection& selection, const Keywords* keywords,
                              AccountQuery query = {});

}  // namespace memtool
