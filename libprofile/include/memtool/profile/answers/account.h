// The account of a process: from what the device has down to what its program's rows hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
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
  // Figures from the device or the caller; they override those of the inputs.
  AccountFacts facts{};
};

// One line of a memory breakdown, or a bucket below it (key "bucket:NAME", one level deeper).
struct AccountRow {
  std::string device{};    // whose ladder it is of; empty where there is one ladder
  std::size_t ladder = 0;  // row of AccountAnswer::facts
  AccountStep step;
  // Fraction of the first known line that contains all later ones; none above that line and for
  // unknown values.
  std::optional<double> share{};
  // What none of its known parts explains; none of what has no parts, or less than they add up to.
  std::optional<std::int64_t> rest{};
  bool beyond = false;                 // larger than that line, which contradicts it: without share
  std::string bucket{};                // its name
  std::vector<BucketEntry> entries{};  // of a bucket: the largest
  std::uint64_t more_entries = 0;      // entries that are not listed
};

// Pinned host memory in a log: on no device, so in no step.
struct HostMemory {
  std::string input;
  std::int64_t bytes = 0;
};

struct AccountAnswer {
  AnswerHead head{.question = "account", .unit = "bytes"};
  // One per breakdown, completed by Complete(). One breakdown per device, in natural order; a
  // single one if the inputs do not say which device their bytes are on.
  std::vector<AccountFacts> facts;
  std::vector<AccountRow> rows;  // ladder by ladder
  std::vector<HostMemory> host;
};

// "fact", "difference", "unknown".
std::string_view KindKey(AccountStep::Kind kind);

inline constexpr auto kAccountFields = Fields<AccountRow>({
    {"device", "DEVICE", Unit::kText,
     [](const AccountRow& row) { return row.device.empty() ? Value() : Value(row.device); },
     "the device", kFixed, "string|null"},
    {"step", "STEP", Unit::kText, [](const AccountRow& row) { return Value(row.step.key); },
     "the part of the memory; deeper ones are parts of it", kFixed},
    {"bytes", "SIZE", Unit::kBytes,
     [](const AccountRow& row) {
       return row.step.kind == AccountStep::Kind::kUnknown ? Value() : Value(row.step.bytes);
     },
     "its size", kPlain, "integer|null"},
    {"share", "SHARE", Unit::kRatio, kInWords, "SIZE as a share of the step that it is a part of",
     Drop(2)},
    {"rest", "", Unit::kBytes, &AccountRow::rest, "what none of its known parts explains"},
    {"precision", "", Unit::kBytes, [](const AccountRow& row) { return Value(row.step.precision); },
     "by how much SIZE may be off", kPlain, "natural"},
    {"kind", "", Unit::kText, [](const AccountRow& row) { return Value(KindKey(row.step.kind)); },
     "how SIZE is known", kPlain, R"("fact"|"difference"|"unknown")"},
    {"source", "FROM", Unit::kText, [](const AccountRow& row) { return Value(row.step.source); },
     "who says so", Drop(3)},
    {"note", "WHAT IT IS", Unit::kText, kInWords, "what the part consists of",
     Drop(1) | kFixed | kWrap, "string"},
});

// Says in the head, as a warning, that steps contradict each other; for a head that was not made
// here.
void NoteContradictions(AccountAnswer& answer);

AnswerView MakeView(const AccountAnswer& answer);

// Adds inputs one by one. If two report the same figure, the first is used.
class AccountMaker {
 public:
  explicit AccountMaker(AccountQuery query);
  AccountMaker(const AccountMaker&) = delete;
  AccountMaker& operator=(const AccountMaker&) = delete;
  ~AccountMaker();

  // `keywords`: what splits the requested bytes into buckets, kept by reference; null where no
  // dictionary fits the input. Errors: those of RecordingBuilder::Finish.
  Result<void> Add(const Selection& selection, const Keywords* keywords);
  // Adds a log of driver calls, leaving out what a snapshot of the same process reports
  // (FrameworkSegments): what is recorded below the framework, split by `keywords`, which are kept
  // by reference.
  Result<void> AddBeside(const Selection& log, const Keywords& keywords);
  AccountAnswer Make() &&;

 private:
  struct Ladder;
  // Adds to the breakdown of all devices and to those of the devices that the input names.
  template <class Take>
  Result<void> Spread(const Selection& selection, Take take);
  void NoteHost(const Selection& log);
  Ladder& LadderFor(const std::string& device);
  void MakeRows(const Ladder& ladder, bool named, AccountAnswer& answer) const;

  AnswerHead head_{.question = "account"};
  AccountFacts given_;
  std::vector<HostMemory> host_;
  NodeSpace space_;
  std::deque<Ladder> ladders_;  // [0] is of all devices
  bool apart_ = true;           // every byte so far has a known device
};

// Errors: those of AccountMaker::Add.
Result<AccountAnswer> Account(const Selection& selection, const Keywords* keywords,
                              AccountQuery query = {});

}  // namespace memtool
