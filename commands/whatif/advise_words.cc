#include "whatif/advise_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "memtool/profile/base/paths.h"
#include "memtool/profile/base/sizes.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

std::string ObstacleText(const AdviseDevice& device) {
  switch (device.obstacle) {
    case AdviseObstacle::kNotReplayed:
      return fmt::format(
          "nothing can be tried: the recording cannot be replayed ({}: memtool "
          "whatif says more)",
          whatif::ObstacleName(device.fidelity.obstacle));
    case AdviseObstacle::kInexact:
      return "nothing can be tried: the model of the allocator is too far from the recording "
             "(memtool whatif)";
    case AdviseObstacle::kNoBackward:
      return "no backward pass was recorded: what training could change is not to be seen here";
    case AdviseObstacle::kNoLayers:
      return "no function is called again and again and keeps memory: compiled as a whole, or "
             "recorded without Python's stacks; checkpoints are not tried";
    case AdviseObstacle::kCheckpointed:
      return "it is checkpointed already (the backward pass computes forward again): checkpoints "
             "are not tried";
    case AdviseObstacle::kFailedEarly:
      return "it ran out of memory before a step was complete: what the rest of the step needs is "
             "not to be seen here; record one that passes (a smaller batch)";
    case AdviseObstacle::kNone:
      break;
  }
  return {};
}

std::string NeedsText(const AdviseDevice& device) {
  const AdviseNeeds& needs = device.needs;
  const bool failed = device.obstacle == AdviseObstacle::kFailedEarly;
  std::string text = fmt::format("needs {}{} now ({} live)", failed ? "more than " : "",
                                 FormatSize(needs.reserved), FormatSize(needs.live));
  if (needs.next_reserved) {
    text += fmt::format(
        ", {} at the next step, where the optimizer's state that this one made is "
        "there: changes are tried on that",
        FormatSize(*needs.next_reserved));
  }
  return text;
}

std::string Spare(std::int64_t limit, std::int64_t reserved) {
  return fmt::format("{} to spare", FormatSize(limit - reserved));
}

std::string SetText(const AdviseSet& set, std::int64_t limit) {
  return fmt::format("{}: {}, {}", fmt::join(set.changes, " + "),
                     ReservedText(set.reserved_low, set.reserved_high, set.error),
                     Spare(limit, set.reserved_high));
}

std::string FitText(const AdviseAnswer& answer, const AdviseDevice& device) {
  if (!device.limit) {
    return "what would fit: say where (--card 24GiB, --process-limit)";
  }
  const std::string on = FormatSize(*device.limit);
  if (device.fits_now) {
    return fmt::format("fits in {} as it is, {}", on, Spare(*device.limit, device.needs.highest()));
  }
  if (!device.sets.empty()) {
    return "to fit in " + on + ": " + SetText(device.sets.front(), *device.limit);
  }
  const auto best = std::min_element(
      answer.rows.begin(), answer.rows.end(),
      [](const AdviseRow& a, const AdviseRow& b) { return a.reserved_high < b.reserved_high; });
  return best == answer.rows.end()
             ? fmt::format("nothing that was tried saves memory: it does not fit in {}", on)
             : fmt::format("nothing that was tried fits in {} with room to spare; {} comes to {}",
                           on, best->change,
                           ReservedText(best->reserved_low, best->reserved_high, best->error));
}

}  // namespace

std::string ReservedText(std::int64_t low, std::int64_t high, double error) {
  const SizeUnit unit = UnitFor(high);
  const std::string top = FormatSize(high, unit);
  const std::string bottom = FormatSize(low, unit);
  std::string text = bottom == top ? top : bottom.substr(0, bottom.find(' ')) + " to " + top;
  if (error > 0) {
    text += fmt::format(" ±{:.1f}%", 100 * error);
  }
  return text;
}

std::string CostText(const AdviseRow& row) {
  std::vector<std::string> costs;
  if (row.computed_again) {
    costs.push_back(fmt::format("{:.0f}% of the forward again", 100 * *row.computed_again));
  }
  if (row.moved_bytes) {
    const bool host = row.change.find("cpu") != std::string::npos;
    costs.push_back(fmt::format("{} {}", FormatSize(*row.moved_bytes),
                                host ? "over PCIe, both ways, each step" : "on other ranks"));
  }
  if (row.changes_numerics) {
    costs.emplace_back("other numerics");
  }
  return fmt::format("{}", fmt::join(costs, ", "));
}

std::string PlaceText(const AdviseRow& row) {
  return row.function.empty()
             ? std::string()
             : fmt::format("{}, {} at {}:{}", row.function, Counted(row.calls, "call"),
                           BaseName(row.file), row.line);
}

std::vector<std::string> AnswerLines(const AdviseAnswer& answer, const AdviseDevice& device) {
  std::vector<std::string> lines;
  if (device.needs.reserved > 0) {
    lines.push_back(FitText(answer, device));
    lines.push_back(NeedsText(device));
    for (std::size_t i = 1; i < device.sets.size(); ++i) {
      lines.push_back("or " + SetText(device.sets[i], *device.limit));
    }
  }
  if (std::string obstacle = ObstacleText(device); !obstacle.empty()) {
    lines.push_back(std::move(obstacle));
  }
  return lines;
}

std::vector<std::string> MakeNotes(const AdviseAnswer& answer) {
  std::vector<std::string> notes;
  if (answer.rows.empty()) {
    return notes;
  }
  notes.emplace_back(
      "the recorded requests, edited as the change would and replayed; ±: how far such figures "
      "were "
      "from recordings of programs so changed (memtool-advise(1))");
  const auto any = [&answer](Evidence evidence) {
    return std::any_of(answer.rows.begin(), answer.rows.end(),
                       [evidence](const AdviseRow& row) { return row.evidence == evidence; });
  };
  if (any(Evidence::kArithmetic)) {
    notes.emplace_back(
        "arithmetic: bytes of the optimizer's state are taken away, and what the change needs for "
        "itself (buckets, copies) is not added");
  }
  const bool inexact =
      std::any_of(answer.devices.begin(), answer.devices.end(), [](const AdviseDevice& device) {
        return device.needs.reserved > 0 && !device.fidelity.exact();
      });
  if (inexact) {
    notes.emplace_back(
        "replay differs from the recording (memtool whatif): all figures are estimates");
  }
  return notes;
}

}  // namespace memtool::commands
