#include "whatif/advise_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "memtool/profile/base/paths.h"
#include "memtool/profile/base/sizes.h"
#include "whatif/whatif_words.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

std::string WhyNotText(const AdviseDevice& device) {
  switch (device.obstacle) {
    case AdviseObstacle::kNotReplayed:
      return "nothing can be tried: the recording " + ObstacleText(device.fidelity);
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

std::string WithError(std::string text, double error) {
  return error > 0 ? fmt::format("{} ±{:.1f}%", text, 100 * error) : std::move(text);
}

std::string SetText(const AdviseSet& set, std::int64_t limit) {
  return fmt::format("{}: {}, {}", fmt::join(set.changes, " + "),
                     WithError(ReservedText(set.reserved_low, set.reserved_high), set.error),
                     Spare(limit, set.reserved_high));
}

std::string FitText(const AdviseAnswer& answer, const AdviseDevice& device) {
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
             : fmt::format(
                   "nothing that was tried fits in {} with room to spare; {} comes to {}", on,
                   best->change,
                   WithError(ReservedText(best->reserved_low, best->reserved_high), best->error));
}

}  // namespace

std::string ReservedText(std::int64_t low, std::int64_t high) {
  const SizeUnit unit = UnitFor(high);
  const std::string top = FormatSize(high, unit);
  const std::string bottom = FormatSize(low, unit);
  return bottom == top ? top : bottom.substr(0, bottom.find(' ')) + " to " + top;
}

std::string EvidenceText(const AdviseRow& row) {
  return WithError(std::string(ToName(row.evidence)), row.error);
}

std::string CostsText() {
  std::string text;
  for (const auto& [name, cost] : AdviseCosts()) {
    text += fmt::format("{}{} {:g}", text.empty() ? "" : ", ", name, cost);
  }
  return text;
}

namespace {

// What a kind of change always costs.
constexpr std::array kAlways{
    std::pair{std::string_view("foreach"),
              std::string_view("the optimizer's kernels for one parameter after the other")},
    std::pair{std::string_view("chunk-loss"), std::string_view("head and loss computed twice")}};

}  // namespace

std::string CostText(const AdviseRow& row) {
  std::vector<std::string> costs;
  if (row.computed_again) {
    costs.push_back(fmt::format("{:.0f}% of the forward again", 100 * *row.computed_again));
  }
  if (row.passes) {
    costs.push_back(fmt::format("{} passes per step", *row.passes));
  }
  if (row.over_pcie) {
    costs.push_back(fmt::format("{} over PCIe each way and step", FormatSize(*row.over_pcie)));
  }
  if (row.on_other_ranks) {
    costs.push_back(fmt::format("{} on other ranks, one gather of parameters per step",
                                FormatSize(*row.on_other_ranks)));
  }
  for (const auto& [kind, words] : kAlways) {
    if (row.kind == kind) {
      costs.emplace_back(words);
    }
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
    if (device.limit) {
      lines.push_back(FitText(answer, device));
    }
    lines.push_back(NeedsText(device));
    if (!device.limit && !answer.rows.empty()) {
      lines.emplace_back("what fits depends on the card: --card 24GiB, or --process-limit");
    }
    for (std::size_t i = 1; i < device.sets.size(); ++i) {
      lines.push_back("or " + SetText(device.sets[i], *device.limit));
    }
  }
  if (std::string obstacle = WhyNotText(device); !obstacle.empty()) {
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
  for (const AdviseRow& row : answer.rows) {
    if (row.saves < 0) {
      notes.push_back(fmt::format(
          "{} needs more: copies of parameters in the lower precision take more than activations "
          "give",
          row.change));
    }
  }
  const auto any = [&answer](Evidence evidence) {
    return std::any_of(answer.rows.begin(), answer.rows.end(),
                       [evidence](const AdviseRow& row) { return row.evidence == evidence; });
  };
  if (any(Evidence::kArithmetic)) {
    notes.emplace_back(
        "arithmetic: bytes of the optimizer's state are taken away, and what the change needs for "
        "itself (buckets, copies) is not added");
  }
  const bool unnamed =
      std::any_of(answer.devices.begin(), answer.devices.end(), [](const AdviseDevice& device) {
        return device.obstacle == AdviseObstacle::kNone && !device.names_operators;
      });
  if (unnamed) {
    notes.emplace_back(
        "autocast=bf16 was not tried: the stacks name no operators (recorded with "
        "stacks=\"python\"?)");
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
