#include "answers/account_part.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/device_name.h"
#include "memtool/profile/base/natural_order.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::account {

namespace {

constexpr std::int64_t kMebibyte = 1048576;

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

}  // namespace

std::int64_t TotalRetained(const Selection& selection) {
  std::int64_t total = 0;
  for (const StackSum& sum : selection.sums().rows) {
    total = SaturatingAdd(total, sum.value);
  }
  return total;
}

bool IsHost(const Recording& recording, LabelSetId labels) {
  return ToText(recording, labels, "device") == "host" ||
         ToText(recording, labels, "memory") == "pinned host";
}

bool IsLog(RecordingKind kind) {
  return kind == RecordingKind::kDriverLog || kind == RecordingKind::kTagLog;
}

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

namespace {

Quantity TotalOf(const Selection& rows) {
  return {.bytes = TotalRetained(rows), .source = rows.recording().metadata.format};
}

// What the rows sum to is what was requested, unless something else is known.
Result<void> AddRequested(const Selection& selection, Part& part) {
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

}  // namespace

Result<Part> MakePart(const Selection& selection, const std::string* device) {
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

}  // namespace memtool::account
