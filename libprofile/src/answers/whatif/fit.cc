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
      program = std::make_unique<FittedProgram>(
          near, inputs[choice.far], whatif::RecordedSettings(near.index->recording()), keys_);
    }
    return *program;
  }
  [[nodiscard]] const auto& all() const { return programs_; }

 private:
  const std::vector<FitInput>& inputs_;
  StackKeys keys_;
  std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<FittedProgram>> programs_;
};

std::vector<double> GetTargets(const FitQuery& query) {
  std::set<double> targets(query.at.begin(), query.at.end());
  targets.insert(query.x.begin(), query.x.end());
  if (query.at.empty()) {
    const double largest = *std::max_element(query.x.begin(), query.x.end());
    targets.insert(2 * largest);
    targets.insert(4 * largest);
  }
  return {targets.begin(), targets.end()};
}

double LargestRecorded(const FitQuery& query) {
  return *std::max_element(query.x.begin(), query.x.end());
}

whatif::RunOptions LimitedTo(std::optional<std::int64_t> limit) {
  return {.limit = limit.value_or(whatif::kNoLimit), .total = {}, .until = {}};
}

// The largest whole x that passes within `limit`: doubled until one fails, then halved.
FitLargest LargestWithin(std::int64_t limit, Programs& programs, const FitQuery& query,
                         const AllocatorSettings& settings) {
  const auto passes = [&](std::int64_t x) {
    const auto size = static_cast<double>(x);
    return !whatif::RunOnce(programs.For(size).At(size), settings, LimitedTo(limit)).failed;
  };
  FitLargest largest{.setting = whatif::ConfText(settings), .x = {}};
  const double most = LargestRecorded(query) * kMaxFactor;
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

// Each doubling beyond what was recorded leaves so much of the limit in doubt.
constexpr double kDoubtPerDoubling = 0.05;
constexpr double kMaxDoubt = 0.5;

FitLargest LargestX(Programs& programs, const FitQuery& query, const AllocatorSettings& settings) {
  FitLargest largest = LargestWithin(*query.limit, programs, query, settings);
  const double distance = static_cast<double>(largest.x.value_or(0)) / LargestRecorded(query);
  if (distance > kFarFactor) {
    const double doubt = std::min(kMaxDoubt, kDoubtPerDoubling * std::log2(distance));
    const auto sure = static_cast<std::int64_t>(static_cast<double>(*query.limit) * (1 - doubt));
    largest.doubt = doubt;
    largest.x_low = LargestWithin(sure, programs, query, settings).x.value_or(0);
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

// Of the programs that were made, the one that is trusted least: its gate stands for all.
const FittedProgram& LeastTrusted(const Programs& programs) {
  const auto trust = [](const FittedProgram& program) {
    const whatif::FitGate& gate = program.gate();
    return std::tuple(gate.accepted(), gate.paired(), -gate.outside_share());
  };
  const auto worst = std::min_element(
      programs.all().begin(), programs.all().end(),
      [&](const auto& a, const auto& b) { return trust(*a.second) < trust(*b.second); });
  return *worst->second;
}

// What a law's row is called: that of the group of its stack, and of its lines the one that holds
// most.
class LawRows {
 public:
  LawRows(const AllocationGroups& groups, const AllocationGroups& lines)
      : groups_(groups), lines_(lines) {}

  void Add(const whatif::FitRow& part) {
    const std::uint32_t group = GetGroup(groups_, part.stack);
    FitLawRow& row = rows_[{group, part.law}];
    std::int64_t& of_line = of_lines_[{group, part.law}][GetGroup(lines_, part.stack)];
    of_line = SaturatingAdd(of_line, part.bytes);
    if (row.name.empty()) {
      row.law = part.law;
      NameGroup(group, row);
    }
    row.bytes = SaturatingAdd(row.bytes, part.bytes);
    row.recorded = SaturatingAdd(row.recorded, part.recorded);
  }

  void Name(StackId stack, FitLawRow& row) const { NameGroup(GetGroup(groups_, stack), row); }

  // By bytes, the largest first. `live`: all of them.
  std::vector<FitLawRow> Take(std::int64_t live) && {
    std::vector<FitLawRow> rows;
    rows.reserve(rows_.size());
    for (auto& [key, row] : rows_) {
      const auto& lines = of_lines_.at(key);
      const auto most =
          std::max_element(lines.begin(), lines.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      if (row.line == 0 && most->first != AllocationGroups::kRest && !row.file.empty()) {
        row.line = lines_.names[most->first].line;
      }
      row.share = live > 0 ? Ratio(row.bytes, live) : 0;
      rows.push_back(std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const FitLawRow& a, const FitLawRow& b) {
      const auto head = [](const FitLawRow& row) {
        return std::string_view(row.name).substr(0, SharedText::kHead);
      };
      return std::tuple(b.bytes, head(a), a.law) < std::tuple(a.bytes, head(b), b.law);
    });
    return rows;
  }

 private:
  [[nodiscard]] static std::uint32_t GetGroup(const AllocationGroups& groups, StackId stack) {
    return stack.valid() && stack.value() < groups.of_stack.size() ? groups.of_stack[stack.value()]
                                                                   : AllocationGroups::kRest;
  }
  void NameGroup(std::uint32_t group, FitLawRow& row) const {
    if (group == AllocationGroups::kRest) {
      row.name = kNoStack;
      return;
    }
    const auto& name = groups_.names[group];
    row.name = name.name;
    row.file = name.file;
    row.line = name.line;
  }

  const AllocationGroups& groups_;
  const AllocationGroups& lines_;
  std::map<std::pair<std::uint32_t, whatif::Law>, FitLawRow> rows_;
  std::map<std::pair<std::uint32_t, whatif::Law>, std::map<std::uint32_t, std::int64_t>> of_lines_;
};

// Fills an answer: the gate, and where that accepts, the predictions.
class FitWork {
 public:
  FitWork(const std::vector<FitInput>& inputs, const FitQuery& query, FitAnswer& answer)
      : inputs_(inputs), query_(query), answer_(answer), programs_(inputs) {}

  // `selections`: of the inputs, in their order.
  Result<void> Run(const std::vector<Selection>& selections) {
    const std::vector<double> targets = GetTargets(query_);
    if (!Gate(targets)) {
      return {};
    }
    MEMTOOL_TRY(AddScratch(selections));
    for (const double x : targets) {
      PredictAt(x);
    }
    if (query_.limit) {
      for (const AllocatorSettings& setting : SettingsFor(programs_.For(targets.back()))) {
        answer_.largest.push_back(LargestX(programs_, query_, setting));
      }
    }
    return AddLaws(
        query_.at.empty() ? targets.back() : *std::max_element(query_.at.begin(), query_.at.end()),
        selections);
  }

 private:
  // Makes every program that is needed. False: they are not of one structure.
  bool Gate(const std::vector<double>& targets) {
    for (const double x : targets) {
      programs_.For(x);
    }
    for (std::size_t i = 0; inputs_.size() > 2 && i < inputs_.size(); ++i) {
      programs_.For(inputs_[i].x, i);
    }
    for (const auto& [inputs, program] : programs_.all()) {
      answer_.began_late = answer_.began_late || program->has_base();
    }
    const FittedProgram& worst = LeastTrusted(programs_);
    answer_.gate = worst.gate();
    answer_.gate_x = worst.near().x;
    answer_.gate_other_x = worst.far().x;
    const auto [first, last] =
        std::minmax_element(inputs_.begin(), inputs_.end(),
                            [](const FitInput& a, const FitInput& b) { return a.x < b.x; });
    const auto peak = [](const FitInput& input) {
      return input.index->summary(*input.trace).peak_bytes;
    };
    answer_.peaks_fall = peak(*last) < peak(*first);
    return answer_.gate.accepted();
  }

  // Over all programs that were made, each once.
  Result<void> AddScratch(const std::vector<Selection>& selections) {
    std::map<std::tuple<std::string, std::string, double>, FitScratchRow> rows;
    for (const auto& [inputs, program] : programs_.all()) {
      std::map<std::tuple<std::string, std::string, double>, FitScratchRow> own;
      for (const whatif::FitScratch& scratch : program->scratch()) {
        const std::size_t input = scratch.near ? inputs.first : inputs.second;
        auto groups = GroupAllocations(selections[input].view(), query_.by);
        MEMTOOL_TRY(groups);
        FitLawRow named;
        LawRows(*groups, *groups).Name(scratch.stack, named);
        FitScratchRow& row =
            own[{std::string(named.name), std::string(named.file), inputs_[input].x}];
        row.name = named.name;
        row.file = named.file;
        row.x = inputs_[input].x;
        row.count += scratch.count;
        row.largest = std::max(row.largest, scratch.largest);
      }
      for (auto& [key, row] : own) {
        FitScratchRow& known = rows[key];
        if (row.count > known.count) {
          known = std::move(row);
        }
      }
    }
    for (auto& [key, row] : rows) {
      answer_.scratch.push_back(std::move(row));
    }
    return {};
  }

  // A recorded size among three inputs is predicted from the two others: that tests the laws.
  void PredictAt(double x) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                    [x](const FitInput& one) { return one.x == x; });
    const bool recorded = input != inputs_.end();
    const bool tested = recorded && inputs_.size() > 2;
    std::optional<std::size_t> without;
    if (tested) {
      without = static_cast<std::size_t>(input - inputs_.begin());
    }
    const FittedProgram& program = programs_.For(x, without);
    for (const AllocatorSettings& setting : SettingsFor(program)) {
      FitRow row = Predict(program, x, setting, query_);
      row.tested = tested;
      if (recorded && whatif::ConfText(setting) ==
                          whatif::ConfText(whatif::RecordedSettings(input->index->recording()))) {
        const TraceSummary& summary = input->index->summary(*input->trace);
        row.recorded_live = summary.peak_bytes;
        row.recorded_reserved = summary.reserved_peak_bytes;
      }
      answer_.rows.push_back(std::move(row));
    }
  }

  // Those that were asked for, or those of the recording that the program was scaled from.
  [[nodiscard]] std::vector<AllocatorSettings> SettingsFor(const FittedProgram& program) const {
    return query_.settings.empty()
               ? std::vector{whatif::RecordedSettings(program.near().index->recording())}
               : query_.settings;
  }

  // Which rows grow how, at size x.
  Result<void> AddLaws(double x, const std::vector<Selection>& selections) {
    const FittedProgram& program = programs_.For(x);
    const auto scaled = static_cast<std::size_t>(
        std::find_if(inputs_.begin(), inputs_.end(),
                     [&](const FitInput& one) { return one.x == program.near().x; }) -
        inputs_.begin());
    auto groups = GroupAllocations(selections[scaled].view(), query_.by);
    MEMTOOL_TRY(groups);
    auto lines = GroupAllocations(selections[scaled].view(), {.granularity = Granularity::kLine});
    MEMTOOL_TRY(lines);
    const whatif::FitPeak peak = program.PeakAt(x);
    answer_.rows_at = x;
    answer_.rows_from = program.near().x;
    answer_.rows_peak = peak.live;
    LawRows rows(*groups, *lines);
    for (const whatif::FitRow& part : peak.rows) {
      rows.Add(part);
    }
    answer_.law_rows = std::move(rows).Take(peak.live);
    return {};
  }

  const std::vector<FitInput>& inputs_;
  const FitQuery& query_;
  FitAnswer& answer_;
  Programs programs_;
};

}  // namespace

Result<void> FitMaker::Add(Selection selection) {
  const Recording& source = selection.source();
  const HistoryIndex* index = selection.history();
  if (index == nullptr) {
    return Fail(ErrorCode::kUnsupported, "does not record what was requested and when");
  }
  std::vector<std::size_t> traces;
  whatif::Obstacle obstacle = whatif::Obstacle::kNoEvents;
  for (const MomentOfTrace& moment : selection.moments()) {
    const whatif::Obstacle found =
        whatif::FindObstacle(source, source.history->traces[moment.trace]);
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
  MEMTOOL_TRY(FitWork(inputs_, query_, answer_).Run(selections_));
  return std::move(answer_);
}

std::vector<NamedValue> MakeFigures(const FitAnswer& answer) {
  const whatif::FitGate& gate = answer.gate;
  Value::List laws;
  for (const FitLawRow& row : answer.law_rows) {
    laws.emplace_back(Value::Object{{"name", row.name},
                                    {"file", row.file.empty() ? Value() : Value(row.file)},
                                    {"line", LineValue(row.line)},
                                    {"law", whatif::ToName(row.law)},
                                    {"bytes", row.bytes},
                                    {"share", row.share},
                                    {"recorded", row.recorded}});
  }
  Value::List largest;
  for (const FitLargest& one : answer.largest) {
    largest.emplace_back(Value::Object{
        {"setting", one.setting}, {"x", one.x}, {"x_low", one.x_low}, {"bounded", one.bounded}});
  }
  Value::List scratch;
  for (const FitScratchRow& row : answer.scratch) {
    scratch.emplace_back(Value::Object{{"name", row.name},
                                       {"file", row.file.empty() ? Value() : Value(row.file)},
                                       {"x", row.x},
                                       {"count", row.count},
                                       {"largest", row.largest}});
  }
  return {{"gate",
           Value::Object{{"paired", gate.paired()},
                         {"outside", gate.outside_share()},
                         {"accepted", gate.accepted()},
                         {"reason", gate.accepted() ? Value() : Value(whatif::ToName(gate.reason))},
                         {"exact", gate.exact},
                         {"allocations", gate.allocations},
                         {"scratch", std::move(scratch)},
                         {"x", Value::List{answer.gate_x, answer.gate_other_x}}}},
          {"device", answer.device},
          {"began_late", answer.began_late},
          {"limit", answer.limit},
          {"largest", std::move(largest)},
          {"laws_at", answer.rows_at},
          {"laws_from", answer.rows_from},
          {"laws", std::move(laws)}};
}

AnswerView MakeView(const FitAnswer& answer) {
  return ViewRows(answer.head, MakeFigures(answer), answer.rows, kFitFields);
}

}  // namespace memtool
