#include "memtool/profile/replay/history_index.h"

#include <utility>

namespace memtool {

HistoryIndex::HistoryIndex(std::shared_ptr<const Recording> recording)
    : recording_(std::move(recording)), traces_(recording_->history->traces.size()) {}

HistoryIndex::HistoryIndex(Recording recording)
    : HistoryIndex(std::make_shared<const Recording>(std::move(recording))) {}

std::size_t HistoryIndex::GetRow(const Trace& trace) const {
  return static_cast<std::size_t>(&trace - history().traces.data());
}

const Replay& HistoryIndex::replay(std::size_t trace) const {
  OfTrace& known = traces_[trace];
  if (known.replay == nullptr) {
    known.replay = std::make_unique<const Replay>(*recording_, history().traces[trace]);
  }
  return *known.replay;
}

const TraceSummary& HistoryIndex::summary(std::size_t trace) const {
  OfTrace& known = traces_[trace];
  if (known.summary == nullptr) {
    known.summary = std::make_unique<const TraceSummary>(replay(trace).Summarize());
  }
  return *known.summary;
}

const Replay& HistoryIndex::replay(const Trace& trace) const {
  return replay(GetRow(trace));
}

const TraceSummary& HistoryIndex::summary(const Trace& trace) const {
  return summary(GetRow(trace));
}

}  // namespace memtool
