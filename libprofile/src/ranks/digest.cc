#include "memtool/profile/ranks/digest.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/escape.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/base/string_table.h"
#include "memtool/profile/model/clamped_sums.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

namespace {

constexpr std::size_t kMaxSettings = 64;
constexpr std::size_t kMaxSettingLength = 256;
// What rows may take of a line of at most 64 KiB.
constexpr std::size_t kMaxRowBytes = std::size_t{44} << 10U;
constexpr std::size_t kBytesOfFigures = 80;

// At most: what is no plain text may become \uXXXX.
std::size_t WrittenSize(std::string_view text) {
  return IsPlain(text) ? text.size() : 6 * text.size();
}

// Rows of both moments, joined by what they stand for.
class RowTable {
 public:
  Result<void> Add(const Selection& selection, std::int64_t DigestRow::*figure) {
    Tabulator table(By{}, space_);
    table.Add(MakeInput(selection));
    for (const Row& row : table.Rows(SortBy::kFlat)) {
      if (row.value.flat != 0) {
        DigestRow& known = rows_[{Intern(row.name), Intern(row.file)}];
        known.*figure = SaturatingAdd(known.*figure, row.value.flat);
      }
    }
    return {};
  }

  void MoveTo(Digest& digest) && {
    using Named = std::pair<const Key, DigestRow>;
    std::vector<Named*> rows;
    rows.reserve(rows_.size());
    for (Named& row : rows_) {
      rows.push_back(&row);
    }
    const auto size = [](const Named& row) {
      return std::max(Magnitude(row.second.peak), Magnitude(row.second.end));
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const Named* a, const Named* b) {
      return size(*a) != size(*b) ? size(*a) > size(*b) : Heads(a->first) < Heads(b->first);
    });
    std::size_t bytes = 0;
    for (const Named* row : rows) {
      const std::string_view name = texts_[row->first.first];
      const std::string_view file = texts_[row->first.second];
      if (digest.cut_rows == 0 && digest.rows.size() < kMaxDigestRows) {
        bytes += WrittenSize(name) + WrittenSize(file) + kBytesOfFigures;
      }
      if (digest.cut_rows == 0 && digest.rows.size() < kMaxDigestRows && bytes <= kMaxRowBytes) {
        digest.rows.push_back(row->second);
        digest.rows.back().name = name;
        digest.rows.back().file = file;
      } else {
        ++digest.cut_rows;
        digest.cut_peak = SaturatingAdd(digest.cut_peak, row->second.peak);
        digest.cut_end = SaturatingAdd(digest.cut_end, row->second.end);
        digest.cut_largest = std::max(digest.cut_largest, size(*row));
      }
    }
  }

 private:
  using Key = std::pair<StringId, StringId>;

  // As UTF-8; rows share their texts.
  StringId Intern(const SharedText& text) {
    const auto [known, added] = ids_.try_emplace(text.identity());
    if (added) {
      known->second = {text, texts_.Intern(ToUtf8(text))};
    }
    return known->second.second;
  }
  // Which of two rows of one size comes first.
  [[nodiscard]] std::pair<std::string_view, std::string_view> Heads(const Key& key) const {
    return {texts_[key.first].substr(0, SharedText::kHead),
            texts_[key.second].substr(0, SharedText::kHead)};
  }

  NodeSpace space_;
  StringTable texts_;
  KeyMap<std::uintptr_t, std::pair<SharedText, StringId>> ids_;  // identities last as texts do
  std::map<Key, DigestRow> rows_;
};

std::int64_t TimeAt(std::span<const Event> events, std::int64_t event) {
  return event >= 0 && static_cast<std::size_t>(event) < events.size()
             ? events[static_cast<std::size_t>(event)].time
             : kNoTime;
}

std::optional<std::int64_t> GetCapacity(const History& history, const Trace& trace) {
  for (const DomainId id : {trace.segments, trace.blocks}) {
    if (id.valid() && history.domains[id.value()].capacity) {
      return history.domains[id.value()].capacity;
    }
  }
  return std::nullopt;
}

DigestDevice GetDevice(const HistoryIndex& index, const Trace& trace) {
  const TraceSummary& summary = index.summary(trace);
  const auto events = GetEvents(index.recording(), trace);
  return {.name = ToUtf8(trace.name),
          .device = trace.device,
          .capacity = GetCapacity(index.history(), trace),
          .events = summary.events,
          .overflowed = trace.overflowed,
          .begin = events.empty() ? kNoTime : events.front().time,
          .last = events.empty() ? kNoTime : events.back().time,
          .base = summary.base_bytes,
          .peak = summary.peak_bytes,
          .peak_event = summary.peak_event,
          .peak_time = TimeAt(events, summary.peak_event),
          .end = summary.end_bytes,
          .reserved_peak = summary.reserved_peak_bytes,
          .reserved_end = summary.reserved_end_bytes};
}

// Live and reserved bytes of a trace, event by event.
template <class Visit>
void ForEachState(const HistoryIndex& index, const Trace& trace, Visit visit) {
  const Replay& replay = index.replay(trace);
  const TraceSummary& summary = index.summary(trace);
  std::int64_t live = summary.base_bytes;
  std::int64_t reserved = summary.reserved_base_bytes;
  const auto events = GetEvents(index.recording(), trace);
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    live = RunningAdd(live, replay.ChangeAt(i));
    reserved = RunningAdd(reserved, ReservedChange(events[i]));
    visit(i, events[i], live, reserved);
  }
}

void AddOoms(const HistoryIndex& index, const Trace& trace, Digest& digest) {
  if (index.summary(trace).ooms.empty()) {
    return;
  }
  ForEachState(
      index, trace,
      [&](std::uint32_t i, const Event& event, std::int64_t live, std::int64_t reserved) {
        if (event.action == Action::kOom) {
          digest.ooms.push_back({.device = trace.device,
                                 .event = i,
                                 .time = event.time,
                                 .requested_bytes = event.size,
                                 .free = event.key == kUnknownBytes
                                             ? std::nullopt
                                             : std::optional(static_cast<std::int64_t>(event.key)),
                                 .live = live,
                                 .reserved = reserved});
        }
      });
}

// The finest bins of which few enough cover the trace.
std::optional<DigestGrid> EmptyGrid(const DigestDevice& device) {
  if (device.begin == kNoTime || device.last < device.begin) {
    return std::nullopt;
  }
  DigestGrid grid;
  const auto bins = [&] { return (device.last >> grid.shift) - (device.begin >> grid.shift); };
  while (bins() >= static_cast<std::int64_t>(kMaxDigestBins)) {
    ++grid.shift;
  }
  grid.first = device.begin >> grid.shift;
  return grid;
}

// Times that go backwards count for the bin reached before.
DigestGrid MakeGrid(const HistoryIndex& index, const Trace& trace, const DigestDevice& device) {
  auto grid = EmptyGrid(device);
  if (!grid) {
    return {};
  }
  std::int64_t live_before = device.base;
  std::int64_t reserved_before = index.summary(trace).reserved_base_bytes;
  ForEachState(index, trace,
               [&](std::uint32_t, const Event& event, std::int64_t live, std::int64_t reserved) {
                 const std::int64_t last = device.last >> grid->shift;
                 const std::int64_t bin =
                     std::clamp(event.time >> grid->shift, grid->first, last) - grid->first;
                 while (static_cast<std::int64_t>(grid->live.size()) <= bin) {
                   grid->live.push_back(live_before);
                   grid->reserved.push_back(reserved_before);
                 }
                 grid->live.back() = std::max(grid->live.back(), live);
                 grid->reserved.back() = std::max(grid->reserved.back(), reserved);
                 live_before = live;
                 reserved_before = reserved;
               });
  return *std::move(grid);
}

void AddFacts(const Recording& recording, const HistoryIndex* index, Digest& digest) {
  const Metadata& metadata = recording.metadata;
  digest.format = ToUtf8(metadata.format);
  digest.display = ToUtf8(metadata.format_display);
  digest.host = ToUtf8(metadata.origin.host);
  digest.process = metadata.origin.process;
  digest.rank = ToUtf8(metadata.origin.rank);
  std::map<std::string, std::string> settings;
  for (const Setting& setting : recording.settings) {
    settings[ToUtf8(setting.name)] = ToUtf8(setting.value);
  }
  for (auto& [name, value] : settings) {
    if (digest.settings.size() < kMaxSettings && name.size() + value.size() <= kMaxSettingLength) {
      digest.settings.emplace_back(name, std::move(value));
    }
  }
  std::vector<Diagnostic> diagnostics;
  AddDiagnostics(recording, index, diagnostics);
  std::map<std::string, std::uint64_t> codes;
  for (const Diagnostic& diagnostic : diagnostics) {
    codes[ToUtf8(diagnostic.code)] += diagnostic.count;
  }
  digest.diagnostics.assign(codes.begin(), codes.end());
}

// The devices' figures, and the one that is fullest. Returns its trace.
Result<std::optional<std::size_t>> AddDevices(const HistoryIndex& index, Digest& digest) {
  auto traces = GetTraces(index.recording(), "");
  MEMTOOL_TRY(traces);
  std::optional<std::size_t> fullest;
  for (const std::size_t row : *traces) {
    const Trace& trace = index.history().traces[row];
    DigestDevice device = GetDevice(index, trace);
    if (device.events == 0 && device.peak == 0 && device.reserved_peak == 0) {
      continue;
    }
    digest.end = SaturatingAdd(digest.end, device.end);
    if (digest.devices.size() == kMaxDigestDevices) {
      continue;
    }
    AddOoms(index, trace, digest);
    digest.devices.push_back(std::move(device));
    if (!fullest || digest.devices.back().peak > digest.devices[*digest.fullest].peak) {
      fullest = row;
      digest.fullest = digest.devices.size() - 1;
    }
  }
  std::stable_sort(digest.ooms.begin(), digest.ooms.end(),
                   [](const DigestOom& a, const DigestOom& b) {
                     return std::tuple(a.time, a.event) < std::tuple(b.time, b.event);
                   });
  digest.ooms.resize(std::min(digest.ooms.size(), kMaxDigestOoms));
  return fullest;
}

Result<void> AddHistory(const std::shared_ptr<const HistoryIndex>& index, Digest& digest) {
  const auto trace = AddDevices(*index, digest);
  MEMTOOL_TRY(trace);
  digest.since_epoch = index->history().clock == Clock::kUnix;
  if (!*trace) {
    return {};
  }
  const Trace& fullest = index->history().traces[**trace];
  const DigestDevice& device = digest.devices[*digest.fullest];
  digest.peak = device.peak;
  digest.grid = MakeGrid(*index, fullest, device);
  RowTable table;
  auto peak = Select(
      index->shared(),
      {.moment = *ParseMoment("peak"), .device = digest.devices.size() == 1 ? "" : device.name},
      index);
  MEMTOOL_TRY(peak);
  MEMTOOL_TRY(table.Add(*peak, &DigestRow::peak));
  auto end = Select(index->shared(), {.moment = *ParseMoment("end")}, index);
  MEMTOOL_TRY(end);
  MEMTOOL_TRY(table.Add(*end, &DigestRow::end));
  std::move(table).MoveTo(digest);
  return {};
}

Error BeyondRange() {
  return {.code = ErrorCode::kLimit, .message = "sums of sizes exceed the 64-bit range"};
}

Result<void> AddProfile(const std::shared_ptr<const Recording>& recording, Digest& digest) {
  auto selection = Select(recording, {});
  MEMTOOL_TRY(selection);
  if (!IsBytes(selection->choice().role)) {
    return Fail(ErrorCode::kUnsupported, "holds no samples in bytes");
  }
  RowTable table;
  MEMTOOL_TRY(table.Add(*selection, &DigestRow::peak));
  std::move(table).MoveTo(digest);
  bool beyond = false;
  for (DigestRow& row : digest.rows) {
    row.end = row.peak;
    AddTo(digest.peak, row.peak, beyond);
  }
  digest.cut_end = digest.cut_peak;
  AddTo(digest.peak, digest.cut_peak, beyond);
  if (beyond) {
    return Fail(BeyondRange());
  }
  digest.end = digest.peak;
  return {};
}

Digest Named(DigestedFile file) {
  Digest digest;
  digest.path = ToUtf8(file.path);
  digest.hash = std::move(file.hash);
  digest.bytes = file.bytes;
  return digest;
}

}  // namespace

Result<Digest> MakeDigest(const std::shared_ptr<const Recording>& recording, DigestedFile file) {
  Digest digest = Named(std::move(file));
  const auto index = recording->history ? std::make_shared<const HistoryIndex>(recording) : nullptr;
  AddFacts(*recording, index.get(), digest);
  if (index && !HistorySumsFit(*recording)) {
    return Fail(BeyondRange());
  }
  if (index) {
    MEMTOOL_TRY(AddHistory(index, digest));
  } else {
    MEMTOOL_TRY(AddProfile(recording, digest));
  }
  return digest;
}

Digest DigestOfProblem(DigestedFile file, std::string_view problem) {
  Digest digest = Named(std::move(file));
  digest.problem = ToUtf8(problem);
  return digest;
}

}  // namespace memtool
