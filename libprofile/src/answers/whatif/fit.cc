#include "memtool/profile/answers/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/history/groups.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/replay/replay.h"
#include "memtool/profile/whatif/fidelity.h"
#include "memtool/profile/whatif/scenario.h"

namespace memtool {

namespace {

using whatif::AllocatorSettings;
using whatif::FitChoice;
using whatif::FitInput;
using whatif::FittedProgram;
using whatif::Requests;
using whatif::RunResult;

// Programs by the inputs that they are made of, made when they are first needed.
class Programs {
 public:
  explicit Programs(const std::vector<FitInput>& inputs) : inputs_(inputs) {}

  // To predict x; `without`: an input that takes no part.
  const FittedProgram& For(double x, std::optional<std::size_t> without = {}) {
    std::vector<FitInput> inputs;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (i != without) {
        inputs.push_back(inputs_[i]);
        rows.push_back(i);
      }
    }
    const FitChoice choice = whatif::ChooseInputs(inputs, x);
    auto& program = programs_[{rows[choice.near], rows[choice.far]}];
    if (program == nullptr) {
      const FitInput& near = inputs[choice.near];
      program = std::make_unique<FittedProgram>(near, inputs[choice.far],
                                                whatif::SettingsOf(near.index->recording()), keys_);
    }
    return *program;
  }
  [[nodiscard]] const auto& all() const { return programs_; }

 private:
  const std::vector<FitInput>& inputs_;
  StackKeys keys_;
  std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<FittedProgram>> programs_;
};

std::vector<double> TargetsOf(const FitQuery& query) {
  std::set<double> targets(query.at.begin(), query.at.end());
  targets.insert(query.x.begin(), query.x.end());
  if (query.at.empty()) {
    const double largest = *std::max_element(query.x.begin(), query.x.end());
    targets.insert(2 * largest);
    targets.insert(4 * largest);
  }
  return {targets.begin(), targets.end()};
}

whatif::RunOptions LimitedTo(std::optional<std::int64_t> limit) {
  return {.limit = limit.value_or(whatif::kNoLimit), .total = {}, .until = {}};
}

// The largest whole x that passes: doubled until one fails, then halved.
FitLargest LargestX(Programs& programs, const FitQuery& query, const AllocatorSettings& settings) {
  const auto passes = [&](std::int64_t x) {
    const auto size = static_cast<double>(x);
    return !whatif::RunOnce(programs.For(size).At(size), settings, LimitedTo(query.limit)).failed;
  };
  FitLargest largest{.setting = whatif::ConfText(settings), .x = {}};
  const double most = *std::max_element(query.x.begin(), query.x.end()) * kMostTimesX;
  const auto highest = static_cast<std::int64_t>(std::min(most, 1e15));
  std::int64_t low = 0;
  std::int64_t high = 1;
  while (high <= highest && passes(high)) {
    low = high;
    high *= 2;
  }
  largest.bounded = high <= highest;
  while (largest.bounded && high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (passes(middle) ? low : high) = middle;
  }
  if (low > 0) {
    largest.x = low;
  }
  return largest;
}

FitRow Predict(const FittedProgram& program, double x, const AllocatorSettings& settings,
               const FitQuery& query) {
  const Requests requests = program.At(x);
  const RunResult run = whatif::RunOnce(requests, settings, LimitedTo({}));
  FitRow row{.x = x,
             .live_peak = run.live_peak,
             .reserved_peak = run.reserved_peak,
             .setting = whatif::ConfText(settings),
             .from = program.near().x};
  if (query.limit) {
    row.passes = !whatif::RunOnce(requests, settings, LimitedTo(query.limit)).failed;
  }
  return row;
}

}  // namespace

Result<void> FitMaker::Add(Selection selection) {
  const Recording& source = selection.source();
  const HistoryIndex* index = selection.history();
  if (index == nullptr) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("a {} does not record what was requested and when",
                            source.metadata.format_display),
                "PyTorch snapshots with a history do: see memtool help recording");
  }
  std::vector<std::size_t> traces;
  whatif::Obstacle obstacle = whatif::Obstacle::kNoEvents;
  for (const MomentOfTrace& moment : selection.moments()) {
    const whatif::Obstacle found = whatif::ObstacleOf(source, source.history->traces[moment.trace]);
    if (found == whatif::Obstacle::kNone) {
      traces.push_back(moment.trace);
    } else if (obstacle == whatif::Obstacle::kNoEvents) {
      obstacle = found;
    }
  }
  if (traces.empty()) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("its allocator cannot be replayed ({})", whatif::ObstacleName(obstacle)),
        "memtool whatif says why");
  }
  if (traces.size() > 1) {
    return Fail(ErrorCode::kUsage, fmt::format("{} devices have a history", traces.size()),
                "choose one with --device");
  }
  answer_.head.Add(selection);
  inputs_.push_back({.index = index,
                     .trace = &index->history().traces[traces.front()],
                     .x = query_.x.at(inputs_.size())});
  selections_.push_back(std::move(selection));
  return {};
}

Result<FitAnswer> FitMaker::Make() && {
  answer_.head.sample_type = "reserved";
  answer_.head.unit = "bytes";
  answer_.device = inputs_.front().trace->device;
  answer_.limit = query_.limit;
  Programs programs(inputs_);
  const std::vector<double> targets = TargetsOf(query_);
  for (const double x : targets) {
    programs.For(x);
  }
  for (std::size_t i = 0; inputs_.size() > 2 && i < inputs_.size(); ++i) {
    programs.For(inputs_[i].x, i);
  }
  const auto worse = [](const whatif::FitGate& a, const whatif::FitGate& b) {
    return std::tuple(a.accepted(), a.paired(), -a.outside_share()) <
           std::tuple(b.accepted(), b.paired(), -b.outside_share());
  };
  const FittedProgram* worst = nullptr;
  for (const auto& [inputs, program] : programs.all()) {
    answer_.began_late = answer_.began_late || program->has_base();
    if (worst == nullptr || worse(program->gate(), worst->gate())) {
      worst = program.get();
    }
  }
  answer_.gate = worst->gate();
  answer_.gate_x = worst->near().x;
  answer_.gate_other_x = worst->far().x;
  if (!answer_.gate.accepted()) {
    return std::move(answer_);
  }
  std::vector<AllocatorSettings> settings = query_.settings;
  for (const double x : targets) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                    [x](const FitInput& one) { return one.x == x; });
    const bool recorded = input != inputs_.end();
    const bool tested = recorded && inputs_.size() > 2;
    const auto row_of = static_cast<std::size_t>(input - inputs_.begin());
    const FittedProgram& program = programs.For(x, tested ? std::optional(row_of) : std::nullopt);
    if (query_.settings.empty()) {
      settings = {whatif::SettingsOf(program.near().index->recording())};
    }
    for (const AllocatorSettings& setting : settings) {
      FitRow row = Predict(program, x, setting, query_);
      row.tested = tested;
      if (recorded && whatif::ConfText(setting) ==
                          whatif::ConfText(whatif::SettingsOf(input->index->recording()))) {
        const TraceSummary& summary = input->index->summary(*input->trace);
        row.recorded_live = summary.peak_bytes;
        row.recorded_reserved = summary.reserved_peak_bytes;
      }
      answer_.rows.push_back(std::move(row));
    }
  }
  if (query_.limit) {
    for (const AllocatorSettings& setting : settings) {
      answer_.largest.push_back(LargestX(programs, query_, setting));
    }
  }
  // Which rows grow how, at the largest size that was asked for.
  const double x =
      query_.at.empty() ? targets.back() : *std::max_element(query_.at.begin(), query_.at.end());
  const FittedProgram& program = programs.For(x);
  const auto scaled = static_cast<std::size_t>(
      std::find_if(inputs_.begin(), inputs_.end(),
                   [&](const FitInput& one) { return one.x == program.near().x; }) -
      inputs_.begin());
  auto groups = GroupAllocations(selections_[scaled].view(), query_.by);
  MEMTOOL_TRY(groups);
  const whatif::FitPeak peak = program.PeakAt(x);
  answer_.rows_at = x;
  answer_.rows_from = program.near().x;
  answer_.rows_peak = peak.live;
  std::map<std::pair<std::uint32_t, whatif::Law>, FitLawRow> rows;
  for (const whatif::FitRow& part : peak.rows) {
    const std::uint32_t group = part.stack.valid() && part.stack.value() < groups->of_stack.size()
                                    ? groups->of_stack[part.stack.value()]
                                    : AllocationGroups::kRest;
    FitLawRow& row = rows[{group, part.law}];
    if (row.name.empty()) {
      row.law = part.law;
      row.name =
          group == AllocationGroups::kRest ? std::string(kNoStack) : groups->names[group].name;
      row.file = group == AllocationGroups::kRest ? std::string() : groups->names[group].file;
      row.line = group == AllocationGroups::kRest ? 0 : groups->names[group].line;
    }
    row.bytes = SaturatingAdd(row.bytes, part.bytes);
    row.recorded = SaturatingAdd(row.recorded, part.recorded);
  }
  for (auto& [key, row] : rows) {
    row.share = peak.live > 0 ? Ratio(row.bytes, peak.live) : 0;
    answer_.law_rows.push_back(std::move(row));
  }
  std::stable_sort(answer_.law_rows.begin(), answer_.law_rows.end(),
                   [](const FitLawRow& a, const FitLawRow& b) {
                     return std::tuple(b.bytes, std::string_view(a.name), a.law) <
                            std::tuple(a.bytes, std::string_view(b.name), b.law);
                   });
  return std::move(answer_);
}

std::vector<NamedValue> FiguresOf(const FitAnswer& answer) {
  const whatif::FitGate& gate = answer.gate;
  Value::List laws;
  for (const FitLawRow& row : answer.law_rows) {
    laws.emplace_back(Value::Object{{"name", row.name},
                                    {"file", row.file.empty() ? Value() : Value(row.file)},
                                    {"line", LineValue(row.line)},
                                    {"law", whatif::NameOf(row.law)},
                                    {"bytes", row.bytes},
                                    {"share", row.share},
                                    {"recorded", row.recorded}});
  }
  Value::List largest;
  for (const FitLargest& one : answer.largest) {
    largest.emplace_back(
        Value::Object{{"setting", one.setting}, {"x", one.x}, {"bounded", one.bounded}});
  }
  return {{"gate",
           Value::Object{{"paired", gate.paired()},
                         {"outside", gate.outside_share()},
                         {"accepted", gate.accepted()},
                         {"reason", gate.accepted() ? Value() : Value(whatif::NameOf(gate.reason))},
                         {"exact", gate.exact},
                         {"allocations", gate.allocations},
                         {"x", Value::List{answer.gate_x, answer.gate_other_x}}}},
          {"device", answer.device},
          {"began_late", answer.began_late},
          {"limit", answer.limit},
          {"largest", std::move(largest)},
          {"laws_at", answer.rows_at},
          {"laws_from", answer.rows_from},
          {"laws", std::move(laws)}};
}

AnswerView ViewOf(const FitAnswer& answer) {
  return ViewRows(answer.head, FiguresOf(answer), answer.rows, kFitFields);
}

}  // namespace memtool
