#include "steps/loop_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "memtool/profile/base/sizes.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

// What a loop repeats: "layers", or "times" where nobody knows.
std::string_view What(const ProgramLoop& found) {
  switch (found.kind) {
    case LoopKind::kLayers:
      return "layers";
    case LoopKind::kParameters:
      return "parameters";
    case LoopKind::kSteps:
      return "passes";
    case LoopKind::kOther:
      break;
  }
  return "times";
}

std::string CountText(std::size_t count) {
  return FormatCount(static_cast<std::int64_t>(count));
}

std::string Padded(const std::string& text, std::size_t width) {
  return fmt::format("{:>{}}", text, width);
}

}  // namespace

std::string LayersText(std::span<const ProgramLoop> loops) {
  // The longest loop of layers says how many there are; forward keeps what backward needs.
  const ProgramLoop* best = nullptr;
  for (const ProgramLoop& found : loops) {
    if (found.kind == LoopKind::kLayers &&
        (best == nullptr || (found.phase == best->phase ? found.loop.length > best->loop.length
                                                        : found.phase == Phase::kForward))) {
      best = &found;
    }
  }
  if (best == nullptr) {
    return {};
  }
  const std::string layers = CountText(best->loop.repetitions()) + " layers";
  return best->kept > 0 ? fmt::format("{} × {}", layers, FormatSize(best->kept))
                        : fmt::format("{}, which keep nothing", layers);
}

std::string StepsText(std::size_t steps, StepSource source, std::string_view mark) {
  switch (source) {
    case StepSource::kMark:
      return fmt::format("{} by marks ({})", Counted(steps, "step"), mark);
    case StepSource::kPhase:
      return Counted(steps, "step") + " by phases";
    case StepSource::kLoop:
      return Counted(steps, "step") + " by loops";
    case StepSource::kNone:
      break;
  }
  return "no steps";
}

std::vector<std::string> LoopLines(std::span<const ProgramLoop> loops,
                                   std::span<const std::string> step_names) {
  struct Parts {
    std::string phase, times, what, period, kept, allocated, where;
  };
  std::vector<Parts> all;
  Parts widest;
  for (const ProgramLoop& found : loops) {
    std::string where = fmt::format("from event {}", CountText(found.begin));
    if (found.step < step_names.size()) {
      where += " in step " + step_names[found.step];
      where += found.steps > 1 ? fmt::format(" and {} like it", CountText(found.steps - 1)) : "";
    }
    all.push_back({.phase = std::string(NameOf(found.phase)),
                   .times = CountText(found.loop.repetitions()),
                   .what = std::string(What(found)),
                   .period = CountText(found.loop.period),
                   .kept = FormatSize(found.kept),
                   .allocated = FormatSize(found.allocated),
                   .where = std::move(where)});
    const auto widen = [](std::string& wide, const std::string& text) {
      wide = text.size() > wide.size() ? text : wide;
    };
    widen(widest.phase, all.back().phase);
    widen(widest.times, all.back().times);
    widen(widest.what, all.back().what);
    widen(widest.period, all.back().period);
    widen(widest.kept, all.back().kept);
    widen(widest.allocated, all.back().allocated);
  }
  std::vector<std::string> lines;
  for (const Parts& parts : all) {
    lines.push_back(fmt::format("  {:<{}}  {} {:<{}} × {} kept of {} in {} allocations  {}",
                                parts.phase, widest.phase.size(),
                                Padded(parts.times, widest.times.size()), parts.what,
                                widest.what.size(), Padded(parts.kept, widest.kept.size()),
                                Padded(parts.allocated, widest.allocated.size()),
                                Padded(parts.period, widest.period.size()), parts.where));
  }
  return lines;
}

}  // namespace memtool::commands
