#include "memtool/profile/steps/step_marks.h"

#include <algorithm>

namespace memtool {

std::string_view MarkWithoutNumber(std::string_view name) {
  const std::size_t before = name.find_last_of("# ");
  if (before == std::string_view::npos || before + 1 == name.size()) {
    return name;
  }
  const std::string_view tail = name.substr(before + 1);
  return tail.find_first_not_of("0123456789") == std::string_view::npos ? name.substr(0, before)
                                                                        : name;
}

StepSpans SpansOfMarks(const History& history, std::string_view wanted) {
  std::vector<const Mark*> marks;
  for (const Mark& mark : history.marks) {
    const bool fits = mark.name == wanted || MarkWithoutNumber(mark.name) == wanted;
    if (fits && mark.begin != kNoTime) {
      marks.push_back(&mark);
    }
  }
  // The same span may be recorded for every device; one device's marks are the program's steps.
  std::int32_t device = INT32_MAX;
  for (const Mark* mark : marks) {
    device = std::min(device, mark->device);
  }
  std::erase_if(marks, [device](const Mark* mark) { return mark->device != device; });
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark* a, const Mark* b) { return a->begin < b->begin; });
  StepSpans spans{.unfinished = !marks.empty() && marks.back()->end == kNoTime};
  std::int64_t done = kNoTime;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const std::int64_t next = i + 1 < marks.size() ? marks[i + 1]->begin : INT64_MAX;
    // What happens at the exact time of an end belongs to the step that ends; where only beginnings
    // are known, to the step that begins.
    const std::int64_t begin = std::max(marks[i]->begin - 1, done);
    done = std::max(marks[i]->end == kNoTime ? next - 1 : std::min(marks[i]->end, next), begin);
    spans.list.push_back({marks[i]->name, begin, done});
  }
  return spans;
}

std::pair<std::string, StepSpans> FindStepMarks(const History& history, std::size_t fewest) {
  std::vector<std::string> names{"ProfilerStep"};
  for (const Mark& mark : history.marks) {
    if (mark.name.starts_with("Optimizer.step")) {
      names.emplace_back(MarkWithoutNumber(mark.name));
      break;
    }
  }
  const std::size_t certain = names.size();
  names.insert(names.end(), {"step", "iteration", "epoch"});
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string& name = names[i];
    StepSpans spans = SpansOfMarks(history, name);
    // One range may be called "step 1" for any reason.
    constexpr std::size_t kNumbered = 3;
    if (spans.list.size() >= (i < certain ? fewest : std::max(fewest, kNumbered))) {
      return {std::move(name), std::move(spans)};
    }
  }
  return {};
}

std::vector<std::int64_t> ForwardClock(std::span<const Event> events) {
  std::vector<std::int64_t> clock;
  clock.reserve(events.size());
  std::int64_t now = kNoTime;
  for (const Event& event : events) {
    now = std::max(now, event.time);
    clock.push_back(now);
  }
  return clock;
}

}  // namespace memtool
