#include "memtool/profile/answers/account.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "answers/account_part.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/device_name.h"
#include "memtool/profile/base/natural_order.h"
#include "memtool/profile/base/result.h"

namespace memtool {

namespace {

constexpr std::size_t kEntries = 3;

// Shares are of the first step that is known and holds what follows.
bool IsWhole(const AccountStep& step) {
  constexpr std::array<std::string_view, 6> kWholes{"capacity", "used",      "process",
                                                    "reserved", "allocated", "requested"};
  return step.kind != AccountStep::Kind::kUnknown &&
         std::find(kWholes.begin(), kWholes.end(), step.key) != kWholes.end();
}

class Rows {
 public:
  void Add(AccountRow row) {
    whole_ = !whole_ && IsWhole(row.step) ? std::optional(row.step.bytes) : whole_;
    row.beyond = whole_ && row.step.kind != AccountStep::Kind::kUnknown && row.step.bytes > *whole_;
    if (whole_ && row.step.kind != AccountStep::Kind::kUnknown && !row.beyond) {
      row.share = Ratio(row.step.bytes, *whole_);
    }
    rows_.push_back(std::move(row));
  }

  // The buckets of a step, those that hold anything.
  void AddBuckets(const BucketTable& table, int level) {
    for (Bucket& bucket : table.AxisAt(0).buckets) {
      if (bucket.sum.bytes == 0 && bucket.sum.unknown == 0) {
        continue;
      }
      AccountRow row{.step = {.key = "bucket:" + bucket.name,
                              .level = level,
                              .kind = AccountStep::Kind::kFact,
                              .bytes = bucket.sum.bytes,
                              .source = table.keywords().dictionary().name},
                     .bucket = bucket.name,
                     .entries = std::move(bucket.entries)};
      // What was left out of this step, as rounding is.
      std::erase_if(row.entries, [](const BucketEntry& entry) {
        return entry.sum.bytes == 0 && entry.sum.unknown == 0;
      });
      if (row.entries.size() > kEntries) {
        row.more_entries = row.entries.size() - kEntries;
        row.entries.resize(kEntries);
      }
      Add(std::move(row));
    }
  }

  std::vector<AccountRow> Take() && { return std::move(rows_); }

 private:
  std::vector<AccountRow> rows_;
  std::optional<std::int64_t> whole_;
};

// Of one ladder, from its end: the parts of a step stand below it, one level deeper. A step that is
// unknown is what its parts add up to.
void PutRests(std::vector<AccountRow>& rows) {
  struct Parts {
    bool any = false;
    std::int64_t bytes = 0;
  };
  std::map<int, Parts> below;
  for (std::size_t i = rows.size(); i-- > 0;) {
    AccountRow& row = rows[i];
    const AccountStep& step = row.step;
    const Parts parts = std::exchange(below[step.level + 1], {});
    const bool known = step.kind != AccountStep::Kind::kUnknown;
    if (known && parts.any && parts.bytes <= step.bytes) {
      row.rest = SaturatingSubtract(step.bytes, parts.bytes);
    }
    Parts& own = below[step.level];
    own.any = own.any || known || parts.any;
    own.bytes = SaturatingAdd(own.bytes, known ? step.bytes : parts.bytes);
  }
}

}  // namespace

std::string_view KindKey(AccountStep::Kind kind) {
  switch (kind) {
    case AccountStep::Kind::kFact:
      return "fact";
    case AccountStep::Kind::kDifference:
      return "difference";
    case AccountStep::Kind::kUnknown:
      break;
  }
  return "unknown";
}

// What inputs say about one device, or about all.
struct AccountMaker::Ladder {
  std::string device;
  AccountFacts facts{};
  std::optional<BucketTable> requested{};
  std::optional<BucketTable> recorded{};
};

AccountMaker::AccountMaker(AccountQuery query) : given_(std::move(query.facts)) {
  ladders_.push_back({.device = {}, .facts = given_});
}

AccountMaker::~AccountMaker() = default;

AccountMaker::Ladder& AccountMaker::LadderFor(const std::string& device) {
  for (std::size_t i = 1; i < ladders_.size(); ++i) {
    if (DeviceMatches(ladders_[i].device, device) || DeviceMatches(device, ladders_[i].device)) {
      return ladders_[i];
    }
  }
  return ladders_.emplace_back(Ladder{.device = device, .facts = given_});
}

template <class Take>
Result<void> AccountMaker::Spread(const Selection& selection, Take take) {
  const std::vector<std::string> devices = account::GetDevices(selection);
  apart_ = apart_ && (!devices.empty() || account::TotalRetained(selection) == 0);
  if (devices.size() < 2) {
    std::vector<Ladder*> ladders{&ladders_.front()};
    if (!devices.empty()) {
      ladders.push_back(&LadderFor(devices.front()));
    }
    return take(devices.empty() ? nullptr : &devices.front(), ladders);
  }
  MEMTOOL_TRY(take(nullptr, std::vector{&ladders_.front()}));
  for (const std::string& device : devices) {
    MEMTOOL_TRY(take(&device, std::vector{&LadderFor(device)}));
  }
  return {};
}

Result<void> AccountMaker::Add(const Selection& selection, const Keywords* keywords) {
  head_.Add(selection);
  NoteHost(selection);
  return Spread(selection, [&](const std::string* device, const auto& ladders) -> Result<void> {
    auto part = account::MakePart(selection, device);
    MEMTOOL_TRY(part);
    for (Ladder* ladder : ladders) {
      AccountFacts reported = part->facts;
      if (ladder->facts.reserved && reported.reserved_kind == ReservedKind::kWholeProcess) {
        reported.reserved_kind = ReservedKind::kFramework;  // another input says what is reserved
      }
      Supplement(ladder->facts, reported);
      if (keywords == nullptr || !part->rows) {
        continue;  // the ladder ends at what is requested
      }
      if (!ladder->requested) {
        ladder->requested.emplace(*keywords, Multi::kFirst, space_);
      }
      MEMTOOL_TRY(ladder->requested->Add(MakeInput(*part->rows)));
    }
    return {};
  });
}

Result<void> AccountMaker::AddBeside(const Selection& log, const Keywords& keywords) {
  head_.Add(log);
  NoteHost(log);
  return Spread(log, [&](const std::string* device, const auto& ladders) -> Result<void> {
    auto rows = account::Cut(log, {.device = device, .host = false, .column = log.choice().type});
    MEMTOOL_TRY(rows);
    for (Ladder* ladder : ladders) {
      const std::int64_t before = ladder->facts.recorded ? ladder->facts.recorded->bytes : 0;
      ladder->facts.recorded =
          Quantity{.bytes = SaturatingAdd(before, account::TotalRetained(*rows)),
                   .source = log.recording().metadata.format};
      if (!ladder->recorded) {
        ladder->recorded.emplace(keywords, Multi::kFirst, space_);
      }
      MEMTOOL_TRY(ladder->recorded->Add(MakeInput(*rows)));
    }
    return {};
  });
}

void AccountMaker::NoteHost(const Selection& log) {
  const Recording& recording = log.recording();
  if (!account::IsLog(recording.metadata.origin.kind)) {
    return;
  }
  const Profile& profile = *recording.profile;
  std::int64_t host = 0;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    if (log.view().Keeps(profile.label_sets[i]) &&
        account::IsHost(recording, profile.label_sets[i])) {
      host = SaturatingAdd(host, profile.values[log.choice().type][i]);
    }
  }
  if (host > 0) {
    host_.push_back({.input = log.name(), .bytes = host});
  }
}

void AccountMaker::MakeRows(const Ladder& ladder, bool named, AccountAnswer& answer) const {
  Rows rows;
  int level = 0;
  // Where the requested bytes are unknown, buckets divide the allocated ones.
  const bool of_allocated = ladder.requested && !ladder.facts.requested;
  for (AccountStep& step : MakeAccountSteps(ladder.facts)) {
    level = step.level + 1;
    const bool recorded = step.key == "recorded" && ladder.recorded;
    const bool allocated = step.key == "allocated" && of_allocated;
    rows.Add({.step = std::move(step)});
    if (recorded || allocated) {
      rows.AddBuckets(recorded ? *ladder.recorded : *ladder.requested, level);
    }
  }
  if (ladder.requested && !of_allocated) {  // the last step
    rows.AddBuckets(*ladder.requested, level);
  }
  std::vector<AccountRow> made = std::move(rows).Take();
  PutRests(made);
  for (AccountRow& row : made) {
    row.device = named ? ladder.device : std::string();
    row.ladder = answer.facts.size();
    answer.rows.push_back(std::move(row));
  }
  answer.facts.push_back(ladder.facts);
  Complete(answer.facts.back());
}

AccountAnswer AccountMaker::Make() && {
  AccountAnswer answer{.head = std::move(head_), .facts = {}, .rows = {}, .host = host_};
  answer.head.unit = "bytes";
  if (!apart_ || ladders_.size() <= 2) {
    MakeRows(ladders_.front(), false, answer);
    NoteContradictions(answer);
    return answer;
  }
  std::vector<const Ladder*> sorted;
  for (std::size_t i = 1; i < ladders_.size(); ++i) {
    sorted.push_back(&ladders_[i]);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Ladder* a, const Ladder* b) { return NaturalLess(a->device, b->device); });
  for (const Ladder* ladder : sorted) {
    MakeRows(*ladder, true, answer);
  }
  NoteContradictions(answer);
  return answer;
}

void NoteContradictions(AccountAnswer& answer) {
  const auto count =
      std::count_if(answer.rows.begin(), answer.rows.end(),
                    [](const AccountRow& row) { return row.step.contradicts || row.beyond; });
  if (count > 0) {
    answer.head.diagnostics.push_back(
        {.code = "contradicting_figures",
         .message = "figures contradict each other: what follows from them is unknown",
         .count = static_cast<std::uint64_t>(count)});
  }
}

Result<AccountAnswer> Account(const Selection& selection, const Keywords* keywords,
                              AccountQuery query) {
  AccountMaker maker(std::move(query));
  MEMTOOL_TRY(maker.Add(selection, keywords));
  return std::move(maker).Make();
}

AnswerView MakeView(const AccountAnswer& answer) {
  return ViewRows(answer.head, {}, answer.rows, kAccountFields);
}

}  // namespace memtool
