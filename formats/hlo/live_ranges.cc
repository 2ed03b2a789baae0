#include "hlo/live_ranges.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool::formats::hlo {

namespace {

// Takes and gives back the places of buffers in the order of time. Where all that is in a place
// ends with the very instruction that makes a value there, the value takes the place over; where
// something lives on, it shares it.
class Places {
 public:
  explicit Places(const HloProgram& program) : program_(program), given_(program.buffers.size()) {
    bases_.reserve(program.allocations.size());
    for (const Allocation& allocation : program.allocations) {
      bases_.push_back(bases_.empty() ? 0 : end_);
      end_ = SaturatingAdd(end_, allocation.size);
    }
  }

  // By colour.
  std::map<std::int64_t, HeapTrace> Replay(const std::vector<LiveRange>& ranges) {
    for (const LiveRange& range : ranges) {
      GiveBefore(range.begin);
      Take(range);
    }
    while (!live_.empty()) {
      GiveBefore(SaturatingAdd(live_.begin()->first, 1));
    }
    return std::move(traces_);
  }

 private:
  struct Place {
    std::int64_t end = 0;
    std::int64_t last = 0;  // instruction that needs it
    std::vector<std::size_t> users;
  };
  using At = std::map<std::int64_t, Place>::iterator;

  void Take(const LiveRange& range) {
    const Buffer& buffer = program_.buffers[range.buffer];
    const std::int64_t begin = SaturatingAdd(bases_[buffer.allocation], buffer.offset);
    const std::int64_t end = SaturatingAdd(begin, buffer.size);
    auto place = Overlapping(begin, end);
    for (; place != places_.end() && place->second.last <= range.begin;
         place = Overlapping(begin, end)) {
      for (const std::size_t user : place->second.users) {
        Give(user);
      }
      places_.erase(place);
    }
    HeapEvent event{.kind = HeapKind::kAlloc, .buffer = range.buffer};
    if (place == places_.end()) {
      place = places_.try_emplace(begin, Place{.end = end, .users = {}}).first;
    } else if (place->first <= begin && end <= place->second.end) {
      event.kind = HeapKind::kShareWith;
      event.shared = place->second.users.front();
    }
    place->second.users.push_back(range.buffer);
    place->second.last = std::max(place->second.last, range.end);
    Add(event);
    live_.emplace(range.end, range.buffer);
  }

  At Overlapping(std::int64_t begin, std::int64_t end) {
    const auto at = places_.lower_bound(begin);
    if (at != places_.begin() && std::prev(at)->second.end > begin) {
      return std::prev(at);
    }
    return at != places_.end() && at->first < end ? at : places_.end();
  }

  void Give(std::size_t row) {
    if (!given_[row]) {
      given_[row] = true;
      Add({.kind = HeapKind::kFree, .buffer = row});
    }
  }

  void Add(const HeapEvent& event) {
    traces_[program_.buffers[event.buffer].color].events.push_back(event);
  }

  void GiveBefore(std::int64_t time) {
    for (; !live_.empty() && live_.begin()->first < time; live_.erase(live_.begin())) {
      Give(live_.begin()->second);
    }
  }

  const HloProgram& program_;
  std::vector<bool> given_;          // by buffer
  std::vector<std::int64_t> bases_;  // by allocation
  std::int64_t end_ = 0;
  std::map<std::int64_t, Place> places_;  // disjoint, by begin; gone ones until another is there
  std::multimap<std::int64_t, std::size_t> live_;  // by end
  std::map<std::int64_t, HeapTrace> traces_;
};

// The temporary allocations of whose buffers all have a range.
std::vector<bool> Covered(const HloProgram& program, const std::vector<bool>& ranged) {
  std::vector<bool> covered;
  covered.reserve(program.allocations.size());
  for (const Allocation& allocation : program.allocations) {
    const auto fits = [&](std::size_t row) {
      const Buffer& buffer = program.buffers[row];
      return ranged[row] && SaturatingAdd(buffer.offset, buffer.size) <= allocation.size;
    };
    covered.push_back(!allocation.indefinite() && !allocation.buffers.empty() &&
                      std::all_of(allocation.buffers.begin(), allocation.buffers.end(), fits));
  }
  return covered;
}

}  // namespace

void AddTraces(HloProgram& program, std::vector<LiveRange> ranges) {
  std::vector<bool> ranged(program.buffers.size());
  for (const LiveRange& range : ranges) {
    ranged[range.buffer] = true;
  }
  const std::vector<bool> covered = Covered(program, ranged);
  std::erase_if(ranges, [&](const LiveRange& range) {
    const Buffer& buffer = program.buffers[range.buffer];
    return !covered[buffer.allocation] || buffer.size == 0;
  });
  // Of those that begin together the largest comes first.
  std::sort(ranges.begin(), ranges.end(), [&](const LiveRange& a, const LiveRange& b) {
    return std::tuple(a.begin, program.buffers[b.buffer].size, a.buffer) <
           std::tuple(b.begin, program.buffers[a.buffer].size, b.buffer);
  });
  std::map<std::int64_t, HeapTrace> traces = Places(program).Replay(ranges);
  for (std::size_t i = 0; i < covered.size(); ++i) {
    const auto trace = traces.find(program.allocations[i].color);
    if (covered[i] && trace != traces.end()) {
      trace->second.color = trace->first;
      trace->second.allocations.push_back(i);
    }
  }
  for (auto& [color, trace] : traces) {
    trace.allocation = trace.allocations.front();
    program.traces.push_back(std::move(trace));
  }
}

}  // namespace memtool::formats::hlo
