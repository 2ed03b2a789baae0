#include "memtool/profile/replay/history_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "memtool/profile/base/once.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/extent.h"
#include "memtool/profile/replay/moment.h"

namespace memtool {

std::int64_t GetFirstTime(const History& history) {
  std::int64_t first = INT64_MAX;
  for (const Event& event : history.events) {
    first = event.time == kNoTime ? first : std::min(first, event.time);
  }
  return first == INT64_MAX ? kNoTime : first;
}

struct HistoryIndex::Kept {
  struct OfTrace {
    Once<Replay> replay;
    Once<TraceSummary> summary;
    std::mutex guard;  // of what follows
    std::optional<RunningTotals> totals;
    std::int64_t live_at = 0;
    std::shared_ptr<const std::vector<LiveBlock>> live;
  };

  explicit Kept(std::size_t count) : traces(count) {}

  std::vector<OfTrace> traces;
  Once<std::int64_t> first_time;
};

HistoryIndex::HistoryIndex(std::shared_ptr<const Recording> recording)
    : recording_(std::move(recording)),
      kept_(std::make_unique<Kept>(recording_->history->traces.size())) {}

HistoryIndex::HistoryIndex(Recording recording)
    : HistoryIndex(std::make_shared<const Recording>(std::move(recording))) {}

HistoryIndex::HistoryIndex(HistoryIndex&&) noexcept = default;
HistoryIndex& HistoryIndex::operator=(HistoryIndex&&) noexcept = default;
HistoryIndex::~HistoryIndex() = default;

std::size_t HistoryIndex::GetRow(const Trace& trace) const {
  return static_cast<std::size_t>(&trace - history().traces.data());
}

const Replay& HistoryIndex::replay(std::size_t trace) const {
  return kept_->traces[trace].replay.Get(
      [&] { return Replay(*recording_, history().traces[trace]); });
}

const TraceSummary& HistoryIndex::summary(std::size_t trace) const {
  return kept_->traces[trace].summary.Get([&] { return replay(trace).Summarize(); });
}

std::int64_t HistoryIndex::first_time() const {
  return kept_->first_time.Get([&] { return GetFirstTime(history()); });
}

std::shared_ptr<const std::vector<LiveBlock>> HistoryIndex::LiveAt(const Trace& trace,
                                                                   std::int64_t last) const {
  Kept::OfTrace& known = kept_->traces[GetRow(trace)];
  {
    const std::lock_guard lock(known.guard);
    if (known.live != nullptr && known.live_at == last) {
      return known.live;
    }
  }
  // Without the lock: other moments need not wait for this one.
  auto live = std::make_shared<const std::vector<LiveBlock>>(replay(trace).LiveAt(last));
  const std::lock_guard lock(known.guard);
  known.live_at = last;
  known.live = live;
  return live;
}

Totals HistoryIndex::TotalsAfter(std::size_t trace, std::int64_t event) const {
  const Replay& replayed = replay(trace);
  const TraceSummary& summarized = summary(trace);
  Kept::OfTrace& known = kept_->traces[trace];
  const std::lock_guard lock(known.guard);
  if (!known.totals) {
    known.totals.emplace(replayed, summarized);
  }
  return known.totals->After(event);
}

const Replay& HistoryIndex::replay(const Trace& trace) const {
  return replay(GetRow(trace));
}

const TraceSummary& HistoryIndex::summary(const Trace& trace) const {
  return summary(GetRow(trace));
}

std::optional<Diagnostic> NoteHoles(const HistoryIndex& index) {
  std::optional<Diagnostic> note;
  for (const Trace& trace : index.history().traces) {
    if (note && index.summary(trace).has_holes()) {
      ++note->count;
    } else if (const TraceSummary& summary = index.summary(trace); summary.has_holes()) {
      note = Diagnostic{
          .severity = Severity::kDamage,
          .code = "does_not_reconcile",
          .message = fmt::format("the events of {} leave {} bytes live, but its blocks hold {}: "
                                 "events or blocks are missing, and figures of both do not fit",
                                 TraceText(trace), FormatCount(summary.end_bytes),
                                 FormatCount(summary.listed_bytes()))};
    }
  }
  return note;
}

void AddDiagnostics(const Recording& recording, const HistoryIndex* index,
                    std::vector<Diagnostic>& diagnostics) {
  const auto add = [&diagnostics](const Diagnostic& diagnostic) {
    const auto known = std::find_if(diagnostics.begin(), diagnostics.end(),
                                    [&](const Diagnostic& d) { return d.code == diagnostic.code; });
    if (known == diagnostics.end()) {
      diagnostics.push_back(diagnostic);
    } else {
      known->count += diagnostic.count;
    }
  };
  std::for_each(recording.diagnostics.begin(), recording.diagnostics.end(), add);
  if (const auto holes = index != nullptr ? NoteHoles(*index) : std::nullopt) {
    add(*holes);
  }
  if (const auto lacking = NoteLacking(recording)) {
    add(*lacking);
  }
}

}  // namespace memtool
