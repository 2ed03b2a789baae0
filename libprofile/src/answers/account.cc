#include "memtool/profile/answers/account.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/device_name.h"
#include "memtool/profile/base/natural_order.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/growth/growth.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool {

namespace {

constexpr std::size_t kEntries = 3;
constexpr std::int64_t kMebibyte = 1048576;

// What the filters keep, a device for example.
std::int64_t TotalRetained(const Selection& selection) {
  std::int64_t total = 0;
  for (const StackSum& sum : selection.sums().rows) {
    total = SaturatingAdd(total, sum.value);
  }
  return total;
}

ReservedKind ToKind(const Origin& origin, bool no_device) {
  if (origin.kind == RecordingKind::kProgram) {
    return ReservedKind::kPlan;
  }
  if (origin.framework == Framework::kUnknown && origin.kind == RecordingKind::kProfile &&
      no_device) {
    return ReservedKind::kNoDevice;
  }
  if (origin.kind == RecordingKind::kLog) {
    return ReservedKind::kWholeProcess;
  }
  if (origin.framework == Framework::kUnknown && origin.kind == RecordingKind::kSnapshot) {
    return ReservedKind::kBfcPool;
  }
  return origin.framework == Framework::kJax && origin.platform.empty() ? ReservedKind::kXlaPool
                                                                        : ReservedKind::kFramework;
}

// The text of a label, or nothing.
std::string_view ToText(const Recording& recording, LabelSetId labels, std::string_view key) {
  for (const Label& label : recording.Labels(labels)) {
    if (recording.Text(label.key) == key) {
      return recording.Text(label.text);
    }
  }
  return {};
}

bool IsHost(const Recording& recording, LabelSetId labels) {
  return ToText(recording, labels, "device") == "host" ||
         ToText(recording, labels, "memory") == "pinned host";
}

bool IsLog(RecordingKind kind) {
  return kind == RecordingKind::kDriverLog || kind == RecordingKind::kTagLog;
}

// Columns of a log that has requested sizes besides the actual ones.
struct Columns {
  std::size_t actual = 0;
  std::optional<std::size_t> requested{};
};
Columns MakeColumns(const Selection& selection) {
  const auto& types = selection.recording().profile->types;
  Columns columns{.actual = selection.choice().type};
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].role == Role::kBytes) {
      columns.actual = i;
    } else if (types[i].role == Role::kRequestedBytes) {
      columns.requested = i;
    }
  }
  return columns;
}

// Which samples count, and with which of their values.
struct Slice {
  const std::string* device = nullptr;  // null = all
  bool host = true;
  std::size_t column = 0;
  bool rounding = true;
};

// The selection with the samples of a slice only. Errors: those of RecordingBuilder::Finish.
Result<Selection> Cut(const Selection& selection, const Slice& slice) {
  const Recording& recording = selection.recording();
  const std::size_t type = selection.choice().type;
  const auto goes = [&](LabelSetId labels) {
    const bool of_device =
        slice.device == nullptr || ToText(recording, labels, "device") == *slice.device;
    return !of_device || (!slice.host && IsHost(recording, labels)) ||
           (!slice.rounding && ToText(recording, labels, "category") == kRoundingCategory);
  };
  const auto& label_sets = recording.profile->label_sets;
  if (slice.column == type && std::none_of(label_sets.begin(), label_sets.end(), goes)) {
    return selection.ScaledBy(selection.scale());  // as it is
  }
  RecordingBuilder builder(recording);
  Profile& profile = builder.samples();
  if (slice.column != type) {
    profile.values[type] = profile.values[slice.column];
  }
  for (std::size_t i = 0; i < profile.size(); ++i) {
    if (goes(profile.label_sets[i])) {
      for (RowVector<std::int64_t>& values : profile.values) {
        values[i] = 0;
      }
    }
  }
  auto rest = std::move(builder).Finish();
  MEMTOOL_TRY(rest);
  return selection.Of(*std::move(rest));
}

// The devices that hold any bytes, in natural order. Empty when some bytes belong to no device.
std::vector<std::string> GetDevices(const Selection& selection) {
  const Recording& recording = selection.recording();
  const Profile& profile = *recording.profile;
  std::set<std::string, std::less<>> devices;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const LabelSetId labels = profile.label_sets[i];
    if (profile.values[selection.choice().type][i] == 0 || !selection.view().Keeps(labels) ||
        IsHost(recording, labels)) {
      continue;
    }
    const std::string_view device = ToText(recording, labels, "device");
    if (device.empty()) {
      return {};
    }
    devices.emplace(device);
  }
  for (const MomentOfTrace& moment : selection.moments()) {
    const Trace& trace = selection.history()->history().traces[moment.trace];
    const auto holds = [&trace](const Segment& segment) {
      return !segment.host && segment.device == trace.device;
    };
    const auto& state = selection.history()->recording().state;
    if (state && std::any_of(state->segments.begin(), state->segments.end(), holds)) {
      devices.insert(trace.name);
    }
  }
  std::vector<std::string> sorted(devices.begin(), devices.end());
  std::sort(sorted.begin(), sorted.end(), NaturalLess);
  return sorted;
}

// MXNet's log says what NVML saw beyond its rows, TBD's has the device's total. `kept`: all
// rows, including those of the host, because the writer's sum includes them.
AccountFacts GetCounters(const Recording& recording, const std::string* device, std::int64_t kept) {
  std::optional<std::int64_t> beyond;
  AccountFacts reported;
  for (const Counter& counter : recording.counters) {
    if (device != nullptr && counter.device >= 0 &&
        !DeviceMatches(*device, std::to_string(counter.device))) {
      continue;
    }
    if (counter.kind == CounterKind::kProcessBeyondRows) {
      beyond = SaturatingAdd(beyond.value_or(0), counter.value);
    } else if (counter.kind == CounterKind::kDeviceTotal && !reported.capacity) {
      reported.capacity = Quantity{
          .bytes = counter.value, .precision = kMebibyte / 2, .source = recording.metadata.format};
    }
  }
  if (beyond) {
    reported.process = Quantity{.bytes = SaturatingAdd(kept, *beyond), .source = "nvml_amend"};
  }
  return reported;
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

// What one input says about one device, or about all.
struct AccountMaker::Part {
  AccountFacts facts{};
  std::optional<Selection> rows;  // what buckets divide; none where it is the driver's figure
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
  const std::vector<std::string> devices = GetDevices(selection);
  apart_ = apart_ && (!devices.empty() || TotalRetained(selection) == 0);
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

Quantity AccountMaker::TotalOf(const Selection& rows) {
  return {.bytes = TotalRetained(rows), .source = rows.recording().metadata.format};
}

// What the rows sum to is what was requested, unless something else is known.
Result<void> AccountMaker::AddRequested(const Selection& selection, Part& part) {
  const bool log = selection.recording().metadata.origin.kind == RecordingKind::kLog;
  if (log && (part.facts.used || part.facts.process)) {
    part.rows.reset();
    return {};
  }
  if (part.facts.reserved_kind == ReservedKind::kBfcPool) {
    part.facts.requested.reset();  // a chunk's size is all that is known
    return {};
  }
  if (part.facts.requested) {
    return {};
  }
  if (selection.history() != nullptr && !selection.history()->history().breakdowns.empty()) {
    auto asked = Cut(*part.rows, {.column = part.rows->choice().type, .rounding = false});
    MEMTOOL_TRY(asked);
    if (TotalRetained(*asked) < TotalRetained(*part.rows)) {
      part.facts.allocated = TotalOf(*part.rows);
      part.rows = *std::move(asked);
    }
  }
  part.facts.requested = TotalOf(*part.rows);
  return {};
}

Result<AccountMaker::Part> AccountMaker::MakePart(const Selection& selection,
                                                  const std::string* device) {
  const Recording& recording = selection.recording();
  const Origin& origin = recording.metadata.origin;
  const Columns columns = MakeColumns(selection);
  auto with_host = Cut(selection, {.device = device, .column = columns.actual});
  auto rows = Cut(
      selection,
      {.device = device,
       .host = !IsLog(origin.kind),
       .column = origin.framework == Framework::kMxnet ? columns.actual : selection.choice().type});
  MEMTOOL_TRY(with_host);
  MEMTOOL_TRY(rows);
  Part part{.rows = *std::move(rows)};
  if (selection.history() != nullptr) {
    std::vector<MomentOfTrace> moments = selection.moments();
    std::erase_if(moments, [&](const MomentOfTrace& moment) {
      return device != nullptr &&
             selection.history()->history().traces[moment.trace].name != *device;
    });
    part.facts = MakeFacts(*selection.history(), moments);
  }
  part.facts.platform = origin.platform;
  part.facts.reserved_kind = ToKind(origin, GetDevices(selection).empty());
  if (part.facts.reserved_kind == ReservedKind::kPlan) {  // no allocator has its gaps
    part.facts.releasable = part.facts.reusable = part.facts.fragmented = std::nullopt;
  }
  Supplement(part.facts, GetCounters(recording, device, TotalRetained(*with_host)));
  if (origin.kind == RecordingKind::kDriverLog && !part.facts.reserved) {
    part.facts.reserved = TotalOf(*part.rows);
    part.facts.reserved_kind = ReservedKind::kWholeProcess;
  }
  if (origin.framework == Framework::kMxnet) {
    part.facts.allocated = TotalOf(*part.rows);
    part.facts.cached_unknown = true;
    if (part.facts.process) {
      part.facts.reserved = part.facts.allocated;  // what the writer subtracted from NVML's figure
    }
    if (!columns.requested) {
      return part;  // sizes as the pool rounded them
    }
    auto requested =
        Cut(selection, {.device = device, .host = false, .column = *columns.requested});
    MEMTOOL_TRY(requested);
    part.rows = *std::move(requested);
  }
  MEMTOOL_TRY(AddRequested(selection, part));
  return part;
}

Result<void> AccountMaker::Add(const Selection& selection, const Keywords* keywords) {
  head_.Add(selection);
  NoteHost(selection);
  return Spread(selection, [&](const std::string* device, const auto& ladders) -> Result<void> {
    auto part = MakePart(selection, device);
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
    auto rows = Cut(log, {.device = device, .host = false, .column = log.choice().type});
    MEMTOOL_TRY(rows);
    for (Ladder* ladder : ladders) {
      const std::int64_t before = ladder->facts.recorded ? ladder->facts.recorded->bytes : 0;
      ladder->facts.recorded = Quantity{.bytes = SaturatingAdd(before, TotalRetained(*rows)),
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
  if (!IsLog(recording.metadata.origin.kind)) {
    return;
  }
  const Profile& profile = *recording.profile;
  std::int64_t host = 0;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    if (log.view().Keeps(profile.label_sets[i]) && IsHost(recording, profile.label_sets[i])) {
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
  for (AccountRow& row : std::move(rows).Take()) {
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
