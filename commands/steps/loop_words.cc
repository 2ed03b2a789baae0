#include "steps/loop_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

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
      return found.phase == StepPhase::kOther ? "repetitions" : "passes";
    case LoopKind::kOther:
      break;
  }
  return "times";
}

std::string CountText(std::size_t count) {
  return FormatCount(static_cast<std::int64_t>(count));
}

}  // namespace

std::string LayersText(std::span<const ProgramLoop> loops) {
  // The longest loop of layers says how many there are; forward keeps what backward needs.
  const ProgramLoop* best = nullptr;
  for (const ProgramLoop& found : loops) {
    if (found.kind == LoopKind::kLayers &&
        (best == nullptr || (found.phase == best->phase ? found.loop.length > best->loop.length
                                                        : found.phase == StepPhase::kForward))) {
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
  // Loops that say the same are one line, with the place of the first.
  std::vector<std::pair<const ProgramLoop*, std::size_t>> kinds;
  std::map<std::tuple<StepPhase, LoopKind, std::size_t, std::size_t, std::int64_t, std::int64_t>,
           std::size_t>
      rows;
  for (const ProgramLoop& found : loops) {
    const auto [row, added] =
        rows.try_emplace({found.phase, found.kind, found.loop.period, found.loop.repetitions(),
                          found.kept, found.allocated},
                         kinds.size());
    if (added) {
      kinds.emplace_back(&found, 0);
    }
    kinds[row->second].second += found.steps;
  }
  constexpr std::size_t kParts = 6;
  std::vector<std::array<std::string, kParts>> parts;
  std::array<std::size_t, kParts> widths{};
  for (const auto& [found, count] : kinds) {
    parts.push_back({std::string(ToName(found->phase)), CountText(found->loop.repetitions()),
                     std::string(What(*found)), FormatSize(found->kept),
                     FormatSize(found->allocated), CountText(found->loop.period)});
    for (std::size_t i = 0; i < kParts; ++i) {
      widths.at(i) = std::max(widths.at(i), parts.back().at(i).size());
    }
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto& [found, count] = kinds[i];
    const auto& [phase, times, what, kept, allocated, period] = parts[i];
    std::string where = "from event " + FormatCount(found->begin);
    where += found->step < step_names.size() ? " of step " + step_names[found->step] : "";
    where += count > 1 ? fmt::format(", {} more", CountText(count - 1)) : "";
    lines.push_back(fmt::format(
        "  {:<{}}  {:>{}} {:<{}} × {:>{}} allocated, {:>{}} kept · {:>{}} allocations, {}", phase,
        widths[0], times, widths[1], what, widths[2], allocated, widths[4], kept, widths[3], period,
        widths[5], where));
  }
  return lines;
}

}  // namespace memtool::commands
