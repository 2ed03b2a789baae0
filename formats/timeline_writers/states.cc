#include "timeline_writers/states.h"

#include <algorithm>

#include "memtool/profile/base/arithmetic.h"

namespace memtool::formats {

void StateDrawer::Next(const TimelinePoint& point, std::span<const std::int64_t> layers,
                       std::int64_t time) {
  State state = ToState(point, layers, time);
  if (run_ == 1) {
    Draw(state);
    return;
  }
  if (in_run_ == 0 || state.values[0] > highest_.values[0]) {
    highest_ = state;
  }
  if (reserved_ && (in_run_ == 0 || state.values[1] > max_reserved_.values[1])) {
    max_reserved_ = state;
  }
  end_ = std::move(state);
  if (++in_run_ == run_) {
    Flush();
  }
}

void StateDrawer::Flush() {
  if (in_run_ == 0) {
    return;
  }
  std::vector<const State*> kept{&highest_, &end_};
  if (reserved_) {
    kept.push_back(&max_reserved_);
  }
  std::sort(kept.begin(), kept.end(),
            [](const State* a, const State* b) { return a->event < b->event; });
  for (const State* state : kept) {
    Draw(*state);
  }
  in_run_ = 0;
}

StateDrawer::State StateDrawer::ToState(const TimelinePoint& point,
                                        std::span<const std::int64_t> layers,
                                        std::int64_t time) const {
  State state{.event = point.event, .time = time, .values = {point.allocated}};
  state.values.reserve(trace_.counters.size());
  if (reserved_) {
    state.values.push_back(point.reserved);
    // What was there before may be in segments that no event mentions.
    state.values.push_back(
        std::max<std::int64_t>(SaturatingSubtract(point.reserved, point.allocated), 0));
  }
  for (const std::size_t layer : shown_) {
    state.values.push_back(layers[layer]);
  }
  return state;
}

void StateDrawer::Draw(const State& state) {
  for (std::size_t i = 0; i < state.values.size(); ++i) {
    if (!drawn_ || state.values[i] != last_[i]) {
      sink_.Counter(trace_, i, state.time, state.values[i]);
      last_[i] = state.values[i];
    }
  }
  drawn_ = true;
}

}  // namespace memtool::formats
