#include "whatif/whatif_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/vendor.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

using whatif::Difference;
using whatif::Fidelity;
using whatif::Limit;
using whatif::Obstacle;

std::string TrialCount(std::uint64_t count) {
  return FormatCount(static_cast<std::int64_t>(count));
}

std::string DifferenceText(const Difference& d) {
  const auto bytes = [](std::uint64_t size) { return FormatSize(static_cast<std::int64_t>(size)); };
  const std::string at =
      d.event < 0 ? "before the first event" : fmt::format("at event {}", d.event);
  switch (d.kind) {
    case Difference::Kind::kBase:
      return fmt::format("{}: {} reserved, the model lays out {}", at, bytes(d.expected),
                         bytes(d.got));
    case Difference::Kind::kPlacement:
      return fmt::format("{}: the block is at {:#x}, the model puts it at {:#x}", at, d.expected,
                         d.got);
    case Difference::Kind::kSegment:
      return fmt::format("{}: {} of new segments, or reserved by then; the model has {}", at,
                         bytes(d.expected), bytes(d.got));
    case Difference::Kind::kRelease:
      return fmt::format("{}: {} given back, by the model {}", at, bytes(d.expected), bytes(d.got));
    case Difference::Kind::kFailure:
      return fmt::format("{}: it {}, in the model it {}", at, d.expected > 0 ? "failed" : "passed",
                         d.expected > 0 ? "passes" : "fails");
    case Difference::Kind::kBlocks:
      return fmt::format("at the end: {} of {} blocks", TrialCount(d.got), TrialCount(d.expected));
  }
  return {};
}

const WhatifRow* OwnRow(const WhatifAnswer& answer, const WhatifDevice& device) {
  const auto own = std::find_if(answer.rows.begin(), answer.rows.end(), [&](const WhatifRow& row) {
    return row.own && row.device == device.device;
  });
  return own == answer.rows.end() ? nullptr : &*own;
}

const WhatifRow* BestRow(const WhatifAnswer& answer, const WhatifDevice& device) {
  const auto best = std::find_if(answer.rows.begin(), answer.rows.end(),
                                 [&](const WhatifRow& row) { return row.device == device.device; });
  return best == answer.rows.end() ? nullptr : &*best;
}

std::string RetriesText(const WhatifRow& row) {
  return row.retries.value_or(0) == 0
             ? std::string()
             : fmt::format(", after giving everything back {}",
                           *row.retries == 1 ? "once" : FormatCount(*row.retries) + " times");
}

// ", 1.90 GiB to spare" where it never comes near the limit, else how often it was refused.
std::string SpareText(const WhatifRow& row, std::int64_t limit) {
  return row.retries.value_or(0) == 0 && row.reserved_peak <= limit
             ? fmt::format(", {} to spare", FormatSize(limit - row.reserved_peak))
             : RetriesText(row);
}

// "settings" and "defaults" are several, a setting is one.
bool IsPlural(const WhatifRow& row) {
  return row.own || row.setting.empty();
}

// "run out at event 421 (5.00 GiB requested)".
std::string FailureText(const WhatifRow& row, bool plural) {
  const std::string runs = plural ? "run out" : "runs out";
  return row.oom_event.value_or(-1) < 0
             ? runs + " before the first event"
             : fmt::format("{} at event {} ({} requested)", runs, FormatCount(*row.oom_event),
                           FormatSize(row.oom_size));
}

std::string LimitedAnswer(const WhatifRow& best, const WhatifRow& own, std::int64_t limit) {
  const std::string on = FormatSize(limit);
  if (best.oom.value_or(false) && !best.oom_unsure) {
    const bool shortage = own.live_peak > limit;
    return fmt::format(
        "no setting passes on {}: {}", on,
        shortage ? fmt::format("{} are live at once: fragmentation is not the cause",
                               FormatSize(own.live_peak))
                 : fmt::format("with {} it {}", SettingText(best), FailureText(best, false)));
  }
  const std::string passes = best.oom_unsure ? "may pass" : IsPlural(best) ? "pass" : "passes";
  std::string text =
      fmt::format("{} {} on {}{}", SettingText(best), passes, on, SpareText(best, limit));
  if (!best.own) {
    text += own.oom.value_or(false)
                ? fmt::format("; {} {}", SettingText(own), FailureText(own, true))
                : fmt::format("; {} pass too{}", SettingText(own), SpareText(own, limit));
  }
  return text;
}

// The rows agree about this much; a smaller gain is no advice.
bool NoticeablyLess(std::int64_t less, std::int64_t than) {
  constexpr std::int64_t kHundred = 100;
  return than - less > than / kHundred;
}

}  // namespace

std::string ObstacleText(const Fidelity& fidelity) {
  switch (fidelity.obstacle) {
    case Obstacle::kNotPyTorch:
      return "cannot be replayed: its events are not those of PyTorch's caching allocator, the "
             "only one "
             "that is modelled";
    case Obstacle::kHostMemory:
      return "cannot be replayed: pinned host memory has another allocator";
    case Obstacle::kNoEvents:
      return "cannot be replayed: there is a state, but no event that led to it (call "
             "_record_memory_history() first)";
    case Obstacle::kNoState:
      return "cannot be replayed: there are events, but no state at their end";
    case Obstacle::kOtherAllocator:
      return "cannot be replayed: it was recorded with another allocator than PyTorch's own "
             "(backend:cudaMallocAsync)";
    case Obstacle::kTooLarge:
      return "cannot be replayed: it has sizes that no device has";
    case Obstacle::kOutside:
      return fmt::format(
          "cannot be replayed: {} of {} allocations lie in no segment that the file tells of "
          "(events are missing, or the addresses are invented)",
          TrialCount(fidelity.outside), TrialCount(fidelity.placements));
    case Obstacle::kNone:
      break;
  }
  return {};
}

std::string SettingText(const WhatifRow& row) {
  if (row.own) {
    return row.setting.empty() ? "today's settings (the defaults)"
                               : "today's settings (" + row.setting + ")";
  }
  return row.setting.empty() ? "PyTorch's defaults" : row.setting;
}

std::string NeedText(const WhatifRow& row) {
  if (!row.interval()) {
    return FormatSize(row.reserved_peak);
  }
  const SizeUnit unit = UnitFor(row.reserved_peak);
  std::string low = FormatSize(row.reserved_peak_low, unit);
  return low.substr(0, low.find(' ')) + " to " + FormatSize(row.reserved_peak, unit);
}

std::string OomText(const WhatifRow& row) {
  if (!row.oom) {
    return {};
  }
  if (!*row.oom) {
    return "no";
  }
  const std::string at = row.oom_event.value_or(-1) < 0 ? "before the first event"
                                                        : "at event " + FormatCount(*row.oom_event);
  return row.oom_unsure ? "maybe, " + at : at;
}

// What was tried.
std::string_view What(const WhatifAnswer& answer) {
  return answer.changed ? "change" : "setting";
}

std::string AnswerText(const WhatifAnswer& answer, const WhatifDevice& device) {
  const WhatifRow* best = BestRow(answer, device);
  const WhatifRow* own = OwnRow(answer, device);
  if (best == nullptr || own == nullptr) {
    return "nothing can be said about other settings: " +
           (device.fidelity.obstacle != Obstacle::kNone
                ? "the recording " + ObstacleText(device.fidelity)
                : std::string("the model is too far from the recording"));
  }
  if (best->fits && own->fits) {
    return best->own || !NoticeablyLess(*best->fits, *own->fits)
               ? fmt::format("no {} saves memory: all need about {} or more", What(answer),
                             FormatSize(*own->fits))
               : fmt::format("{} fits in {}; {} need {}", SettingText(*best),
                             FormatSize(*best->fits), SettingText(*own), FormatSize(*own->fits));
  }
  if (device.used_limit) {
    return LimitedAnswer(*best, *own, *device.used_limit);
  }
  return best->own || !NoticeablyLess(best->reserved_peak, own->reserved_peak)
             ? fmt::format("no {} saves memory: all need about {} or more", What(answer),
                           NeedText(*own))
             : fmt::format("{} fits in {}; {} need {}", SettingText(*best), NeedText(*best),
                           SettingText(*own), NeedText(*own));
}

std::string FidelityText(const WhatifDevice& device) {
  const Fidelity& f = device.fidelity;
  if (f.obstacle != Obstacle::kNone) {
    return "the recording " + ObstacleText(device.fidelity);
  }
  const std::string figures = fmt::format(
      "{} of {} placements, {} of {} segments, {} of {} releases", TrialCount(f.placements_equal),
      TrialCount(f.placements), TrialCount(f.segments_equal), TrialCount(f.segments),
      TrialCount(f.releases_equal), TrialCount(f.releases));
  if (f.exact()) {
    return fmt::format("replay reproduces the recording: {}, reserved bytes equal at every event",
                       figures);
  }
  return fmt::format(
      "replay differs from the recording, all figures are estimates: {}, {} segments too many, "
      "reserved bytes off by up to {}; first {}",
      figures, TrialCount(f.segments_false), FormatSize(f.reserved_difference),
      f.first ? DifferenceText(*f.first) : "nowhere");
}

std::string LimitText(const WhatifAnswer& answer, const WhatifDevice& device) {
  const Limit& limit = device.limit;
  if (!device.fidelity.usable()) {
    return {};
  }
  std::string text;
  switch (limit.from) {
    case Limit::From::kHighest:
      text = fmt::format("limit of the recorded process: at least {} (nothing was refused)",
                         FormatSize(limit.low));
      break;
    case Limit::From::kRefusals:
      text = fmt::format("limit of the recorded process: {} to {}, from {} of the driver",
                         FormatSize(limit.low), FormatSize(limit.high.value_or(limit.low)),
                         Counted(limit.refusals, "refusal"));
      break;
    case Limit::From::kOwn:
      text = fmt::format(
          "limit of the recorded process: {} to {}, its own (set_per_process_memory_fraction): the "
          "driver had room when it was refused",
          FormatSize(limit.low), FormatSize(limit.high.value_or(limit.low)));
      break;
    case Limit::From::kFailure:
      text = fmt::format("limit of the recorded process: {}, from the failure and what was free",
                         FormatSize(limit.low));
      break;
  }
  if (limit.reproduced) {
    text += *limit.reproduced ? "; with it the model is refused at the same events"
                              : "; the model is not refused at the same events with it";
  }
  if (answer.limit_given && device.used_limit) {
    text += fmt::format(" · asked about: {}", FormatSize(*device.used_limit));
  }
  return text;
}

std::vector<std::string> MakeNotes(const WhatifAnswer& answer) {
  std::vector<std::string> notes;
  const auto any = [&answer](auto test) {
    return std::any_of(answer.rows.begin(), answer.rows.end(), test);
  };
  const auto rules = VendorOf(answer.platform).other_rules;
  const bool replayed =
      std::any_of(answer.devices.begin(), answer.devices.end(), [](const WhatifDevice& device) {
        return device.fidelity.obstacle == whatif::Obstacle::kNone;
      });
  if (replayed && !rules.empty()) {
    notes.push_back(fmt::format(
        "the model is of CUDA's allocator (here its settings are {}); that of {} differs: {}",
        SettingsVariable(answer.platform), answer.platform, fmt::join(rules, "; ")));
  }
  if (answer.rows.empty()) {
    return notes;
  }
  notes.emplace_back(
      "RESERVED: the peak without a limit; events, requested sizes and live bytes are the "
      "recording's, programs that look at free memory would have asked for something else");
  if (std::any_of(answer.devices.begin(), answer.devices.end(),
                  [](const WhatifDevice& device) { return device.base_reserved > 0; })) {
    notes.emplace_back(
        "the recording began late: LOW to RESERVED is with earlier blocks repacked, or left in "
        "place; it covers the recording only");
  }
  if (any([](const WhatifRow& row) { return row.edited; })) {
    notes.emplace_back(
        "changes are edits of the recorded requests: memtool-advise(1) says how sure they are");
  }
  if (any([](const WhatifRow& row) { return !row.own && !row.edited && !row.setting.empty(); })) {
    notes.emplace_back(
        "other settings are modelled after PyTorch's source; this recording does not validate "
        "them");
  }
  if (any([](const WhatifRow& row) { return row.grows; })) {
    notes.emplace_back(
        "expandable_segments with max_split_size_mb: reserved memory can grow without bound "
        "(pytorch issue 123548)");
  }
  std::set<std::string> names;
  for (const WhatifRow& row : answer.rows) {
    for (const Setting& setting : row.not_modelled) {
      names.insert(setting.name);
    }
  }
  if (!names.empty()) {
    notes.push_back(fmt::format("not modelled: {}", fmt::join(names, ", ")));
  }
  return notes;
}

}  // namespace memtool::commands
