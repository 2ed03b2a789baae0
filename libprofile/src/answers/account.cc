#include "memtool/profile/answers/account.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool {

namespace {

constexpr std::size_t kEntries = 3;
constexpr std::int64_t kMebibyte = 1048576;

// What the filters keep, a device for example.
std::int64_t KeptTotal(const Selection& selection) {
  std::int64_t total = 0;
  for (const StackSum& sum : selection.sums().rows) {
    total = SaturatingAdd(total, sum.value);
  }
  return total;
}

// Its ordinal; -1 = all, or asked for by name.
std::int32_t DeviceNumber(const Selection& selection) {
  std::int32_t device = -1;
  const std::string& text = selection.device();
  std::from_chars(text.data(), text.data() + text.size(), device);
  return device;
}

bool IsHost(const Recording& recording, LabelSetId labels) {
  const auto set = recording.Labels(labels);
  return std::any_of(set.begin(), set.end(), [&recording](const Label& label) {
    return recording.Text(label.key) == "device" && recording.Text(label.text) == "host";
  });
}

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
    if (whole_ && row.step.kind != AccountStep::Kind::kUnknown) {
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

AccountMaker::AccountMaker(AccountQuery query) : facts_(std::move(query.facts)) {}

Result<Selection> AccountMaker::LeaveHostOut(const Selection& log) {
  RecordingBuilder builder(log.recording());
  Profile& profile = builder.samples();
  std::int64_t host = 0;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    if (log.view().Keeps(profile.label_sets[i]) && IsHost(log.recording(), profile.label_sets[i])) {
      host = SaturatingAdd(host, profile.values[log.choice().type][i]);
      for (std::vector<std::int64_t>& values : profile.values) {
        values[i] = 0;
      }
    }
  }
  auto rest = std::move(builder).Finish();
  MEMTOOL_TRY(rest);
  if (host > 0) {
    host_.push_back({.input = log.name(), .bytes = host});
  }
  return log.Of(*std::move(rest));
}

// MXNet's log tells what NVML saw beyond its rows, TBD's what the device has.
void AccountMaker::TakeCounters(const Selection& selection) {
  const Recording& recording = selection.recording();
  const std::int32_t device = DeviceNumber(selection);
  std::optional<std::int64_t> beyond;
  AccountFacts told;
  for (const Counter& counter : recording.counters) {
    if (device >= 0 && counter.device >= 0 && counter.device != device) {
      continue;
    }
    if (counter.kind == CounterKind::kProcessBeyondRows) {
      beyond = SaturatingAdd(beyond.value_or(0), counter.value);
    } else if (counter.kind == CounterKind::kDeviceTotal && !told.capacity) {
      told.capacity = Quantity{
          .bytes = counter.value, .precision = kMebibyte / 2, .source = recording.metadata.format};
    }
  }
  if (beyond) {
    told.process =
        Quantity{.bytes = SaturatingAdd(KeptTotal(selection), *beyond), .source = "nvml_amend"};
  }
  Supplement(facts_, told);
}

void AccountMaker::TakeFacts(const Selection& selection) {
  const Recording& recording = selection.recording();
  AccountFacts told = FactsOf(recording, selection.moments(), DeviceNumber(selection));
  if (recording.metadata.origin.framework == Framework::kJax) {
    told.reserved_kind = ReservedKind::kXlaPool;
  }
  Supplement(facts_, told);
  TakeCounters(selection);
  const Quantity kept{.bytes = KeptTotal(selection), .source = recording.metadata.format};
  if (recording.metadata.origin.kind == RecordingKind::kDriverLog && !facts_.reserved) {
    facts_.reserved = kept;
    facts_.reserved_kind = ReservedKind::kWholeProcess;
  }
  if (!facts_.requested) {
    facts_.requested = kept;
  }
}

Result<void> AccountMaker::Add(const Selection& selection, const Keywords* keywords) {
  head_.Add(selection);
  if (selection.recording().metadata.origin.kind == RecordingKind::kDriverLog) {
    auto on_device = LeaveHostOut(selection);
    MEMTOOL_TRY(on_device);
    return Take(*on_device, keywords);
  }
  return Take(selection, keywords);
}

Result<void> AccountMaker::Take(const Selection& selection, const Keywords* keywords) {
  TakeFacts(selection);
  if (keywords == nullptr) {
    return {};  // the ladder ends at what is requested
  }
  if (!requested_) {
    requested_.emplace(*keywords, Multi::kFirst, space_);
  }
  return requested_->Add(InputOf(selection));
}

Result<void> AccountMaker::AddBeside(const Selection& log, const Keywords& keywords) {
  head_.Add(log);
  auto on_device = LeaveHostOut(log);
  MEMTOOL_TRY(on_device);
  const std::int64_t before = facts_.recorded ? facts_.recorded->bytes : 0;
  facts_.recorded = Quantity{.bytes = SaturatingAdd(before, KeptTotal(*on_device)),
                             .source = log.recording().metadata.format};
  if (!recorded_) {
    recorded_.emplace(keywords, Multi::kFirst, space_);
  }
  return recorded_->Add(InputOf(*on_device));
}

AccountAnswer AccountMaker::Make() && {
  AccountAnswer answer{
      .head = std::move(head_), .facts = facts_, .rows = {}, .host = std::move(host_)};
  answer.head.unit = "bytes";
  Complete(answer.facts);
  Rows rows;
  int level = 0;
  for (AccountStep& step : LadderOf(facts_)) {
    level = step.level + 1;
    const bool recorded = step.key == "recorded";
    rows.Add({.step = std::move(step)});
    if (recorded && recorded_) {
      rows.AddBuckets(*recorded_, level);
    }
  }
  if (requested_) {  // the last step
    rows.AddBuckets(*requested_, level);
  }
  answer.rows = std::move(rows).Take();
  return answer;
}

Result<AccountAnswer> Account(const Selection& selection, const Keywords* keywords,
                              AccountQuery query) {
  AccountMaker maker(std::move(query));
  MEMTOOL_TRY(maker.Add(selection, keywords));
  return std::move(maker).Make();
}

AnswerView ViewOf(const AccountAnswer& answer) {
  return ViewRows(answer.head, {}, answer.rows, kAccountFields);
}

}  // namespace memtool
