// The history of one recording, replayed once per trace for every question that is asked of it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/replay.h"
#include "memtool/profile/replay/running_totals.h"

namespace memtool {

// Shares ownership of the recording with its other users. What is worked out when it is first asked
// for is kept; any number of threads may ask.
class HistoryIndex {
 public:
  // `recording` has a history.
  explicit HistoryIndex(std::shared_ptr<const Recording> recording);
  explicit HistoryIndex(Recording recording);
  HistoryIndex(HistoryIndex&&) noexcept;
  HistoryIndex& operator=(HistoryIndex&&) noexcept;
  HistoryIndex(const HistoryIndex&) = delete;
  HistoryIndex& operator=(const HistoryIndex&) = delete;
  ~HistoryIndex();

  [[nodiscard]] const Recording& recording() const { return *recording_; }
  [[nodiscard]] const std::shared_ptr<const Recording>& shared() const { return recording_; }
  [[nodiscard]] const History& history() const { return *recording_->history; }

  // `trace`: an element of History::traces, by reference (no copy of it) or by row.
  [[nodiscard]] const Replay& replay(const Trace& trace) const;
  [[nodiscard]] const Replay& replay(std::size_t trace) const;
  [[nodiscard]] const TraceSummary& summary(const Trace& trace) const;
  [[nodiscard]] const TraceSummary& summary(std::size_t trace) const;
  // Replay::LiveAt; the last that was asked for is kept.
  [[nodiscard]] std::shared_ptr<const std::vector<LiveBlock>> LiveAt(const Trace& trace,
                                                                     std::int64_t last) const;
  // GetFirstTime of the history.
  [[nodiscard]] std::int64_t first_time() const;
  // After event `event` of the trace; -1: the base.
  [[nodiscard]] Totals TotalsAfter(std::size_t trace, std::int64_t event) const;

 private:
  struct Kept;
  [[nodiscard]] std::size_t GetRow(const Trace& trace) const;

  std::shared_ptr<const Recording> recording_;
  std::unique_ptr<Kept> kept_;
};

// The earliest time of any event, or kNoTime.
std::int64_t GetFirstTime(const History& history);

// Of traces that do not end at the blocks that the allocator lists: damage. None where a total is
// unknown, which clamped_sums says.
std::optional<Diagnostic> NoteHoles(const HistoryIndex& index);
// What every answer about a recording says of it: its diagnostics, and NoteHoles of its history
// (`index`; else null). Equal codes become one.
void AddDiagnostics(const Recording& recording, const HistoryIndex* index,
                    std::vector<Diagnostic>& diagnostics);

}  // namespace memtool
