#include "timeline_writers/lanes.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace memtool::formats {

std::vector<std::vector<Span>> PackLanes(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::tuple(a.begin, b.end, a.item) < std::tuple(b.begin, a.end, b.item);
  });
  std::vector<std::vector<Span>> lanes;
  using Busy = std::pair<std::int64_t, std::size_t>;  // until when, which lane
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free;
  for (const Span& span : spans) {
    while (!busy.empty() && busy.top().first <= span.begin) {
      free.push(busy.top().second);
      busy.pop();
    }
    std::size_t lane = lanes.size();
    if (free.empty()) {
      lanes.emplace_back();
    } else {
      lane = free.top();
      free.pop();
    }
    lanes[lane].push_back(span);
    busy.emplace(span.end, lane);
  }
  return lanes;
}

}  // namespace memtool::formats
