#include "memtool/profile/answers/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "answers/whatif/advised_part.h"
#include "memtool/profile/advise/step_edits.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/on_threads.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {

namespace {

using advise::Edit;
using advise::Editor;
using advise::Edits;

// What is known of a kind of change: from the comparisons in memtool-advise(1). `cost`: in the
// order in which people would rather do it; a family has one change in a set.
struct KindFacts {
  Edit::Kind kind;
  std::string_view name;
  int family;
  Evidence evidence;
  double error;
  double cost;
  bool numerics = false;
};
constexpr std::array kKinds{
    KindFacts{Edit::Kind::kSettings, "settings", 0, Evidence::kExact, 0.0, 1},
    KindFacts{Edit::Kind::kForeachOff, "foreach", 1, Evidence::kMeasured, 0.025, 2},
    KindFacts{Edit::Kind::kChunkLoss, "chunk-loss", 2, Evidence::kMeasured, 0.015, 3},
    KindFacts{Edit::Kind::kCheckpoint, "checkpoint", 3, Evidence::kMeasured, 0.05, 4},
    KindFacts{Edit::Kind::kAutocast, "autocast", 7, Evidence::kMeasured, 0.05, 5, true},
    KindFacts{Edit::Kind::kAccumulate, "accumulate", 4, Evidence::kMeasured, 0.015, 6},
    KindFacts{Edit::Kind::kShard, "zero1", 5, Evidence::kArithmetic, 0.015, 7},
    KindFacts{Edit::Kind::kBatch, "batch", 4, Evidence::kMeasured, 0.015, 8, true},
    KindFacts{Edit::Kind::kOptimizer, "optimizer", 5, Evidence::kArithmetic, 0.03, 9, true},
    KindFacts{Edit::Kind::kNextStep, "next-step", 6, Evidence::kMeasured, 0.005, 0},
    KindFacts{Edit::Kind::kDrop, "drop", 8, Evidence::kArithmetic, 0.0, 20, true},
};

const KindFacts& FactsOf(Edit::Kind kind) {
  return *std::find_if(kKinds.begin(), kKinds.end(),
                       [kind](const KindFacts& facts) { return facts.kind == kind; });
}

bool IsOffload(const Edit& edit) {
  return edit.kind == Edit::Kind::kOptimizer && edit.optimizer == advise::OptimizerChange::kCpu;
}

Edits Joined(Edits edits, const Edits& more) {
  edits.insert(edits.end(), more.begin(), more.end());
  return edits;
}

// One trace: what it needs, what changes of it need.
class Adviser {
 public:
  Adviser(const HistoryIndex& index, const Trace& trace, const AdviseQuery& query)
      : index_(index), trace_(trace), query_(query) {}

  Result<void> Make(AdviseAnswer& answer) {
    device_.device = trace_.device;
    if (Prepare()) {
      MEMTOOL_TRY(Need());
      TryAll();
      TrySets();
    }
    answer.rows.insert(answer.rows.end(), std::make_move_iterator(rows_.begin()),
                       std::make_move_iterator(rows_.end()));
    answer.devices.push_back(std::move(device_));
    return {};
  }

 private:
  // False: there is nothing to try.
  bool Prepare() {
    own_ = whatif::RecordedSettings(index_.recording());
    device_.fidelity.obstacle = whatif::FindObstacle(index_.recording(), trace_);
    if (device_.fidelity.obstacle != whatif::Obstacle::kNone) {
      device_.obstacle = AdviseObstacle::kNotReplayed;
      return false;
    }
    requests_ = whatif::CollectRequests(index_, trace_, own_);
    device_.fidelity = whatif::ComputeFidelity(index_, trace_, own_, requests_);
    if (!device_.fidelity.usable()) {
      device_.obstacle = AdviseObstacle::kInexact;
      return false;
    }
    device_.limit = query_.limit;
    if (!device_.limit) {
      const whatif::Limit limit = whatif::ComputeLimit(index_, trace_, own_, requests_);
      if (limit.from != whatif::Limit::From::kHighest) {
        device_.limit = limit.low;
      }
    }
    EditedPart part = ChoosePart(index_, trace_, std::move(requests_));
    requests_ = std::move(part.requests);
    cut_ = part.cut;
    failed_early_ = part.failed_early;
    editor_.emplace(index_, trace_, requests_);
    device_.names_operators = editor_->operators().any;
    FindObstacle();
    return true;
  }

  void FindObstacle() {
    const advise::Program& program = editor_->program();
    if (failed_early_) {
      device_.obstacle = AdviseObstacle::kFailedEarly;
    } else if (advise::FindPasses(program).empty()) {
      device_.obstacle = AdviseObstacle::kNoBackward;
    } else if (program.Has(advise::Phase::kRecompute)) {
      device_.obstacle = AdviseObstacle::kCheckpointed;
    }
  }

  [[nodiscard]] whatif::ScenarioQuery Scenario() const {
    return {.kept = false, .both_ways = false};
  }

  Result<void> Need() {
    if (cut_ || failed_early_) {
      auto now = Try(*editor_, requests_, own_, {}, Scenario());
      MEMTOOL_TRY(now);
      device_.needs.reserved = now->reserved_high;
      device_.needs.live = now->live_peak;
    } else {  // the file itself says it
      const TraceSummary& summary = index_.summary(trace_);
      device_.needs.reserved = summary.reserved_peak_bytes;
      device_.needs.live = summary.peak_bytes;
    }
    const bool complete = device_.obstacle == AdviseObstacle::kNone ||
                          device_.obstacle == AdviseObstacle::kCheckpointed;
    const advise::OptimizerState state = advise::FindState(editor_->program());
    if (complete && state.made) {
      auto edits = advise::ParseEdits("next-step");
      auto next = Try(*editor_, requests_, own_, *edits, Scenario());
      constexpr std::int64_t kNotable = 200;
      if (next && next->live_peak - device_.needs.live > device_.needs.live / kNotable) {
        device_.needs.next_reserved = next->reserved_high;
        device_.needs.next_live = next->live_peak;
        device_.next_step_tried = true;
        before_ = *edits;
      }
    }
    device_.fits_now = device_.limit && Fits(device_.needs.highest(), 0);
    return {};
  }

  [[nodiscard]] bool Fits(std::int64_t reserved, double error) const {
    const auto most = static_cast<double>(*device_.limit) * (1 - query_.headroom);
    return static_cast<double>(reserved) * (1 + error) <= most;
  }

  [[nodiscard]] double CostOf(const Edit& edit) const {
    const KindFacts& facts = FactsOf(edit.kind);
    const auto own = std::find_if(query_.costs.begin(), query_.costs.end(),
                                  [&facts](const auto& cost) { return cost.first == facts.name; });
    return own == query_.costs.end() ? facts.cost : own->second;
  }

  // What is tried, one at a time.
  [[nodiscard]] std::vector<Edits> Singles() const {
    std::vector<std::string> texts;
    if (!own_.expandable_segments) {
      texts.emplace_back("expandable_segments:True");
    }
    const bool trains = device_.obstacle == AdviseObstacle::kNone ||
                        device_.obstacle == AdviseObstacle::kCheckpointed;
    if (trains) {
      for (const char* text : {"foreach=False", "chunk-loss=4", "chunk-loss=8", "autocast=bf16",
                               "accumulate=2", "accumulate=4", "zero1=2", "zero1=8", "batch/2",
                               "batch/4", "optimizer=8bit", "optimizer=cpu"}) {
        texts.emplace_back(text);
      }
    }
    if (device_.obstacle == AdviseObstacle::kNone) {
      constexpr std::size_t kSites = 4;
      for (const Editor::Candidate& candidate : editor_->Candidates(kSites)) {
        const std::string where = "checkpoint:" + candidate.where;
        texts.push_back(where);
        if (candidate.follow) {
          texts.push_back(where + ",group=2");
          texts.push_back(where + ",every=2");
        }
      }
    }
    std::vector<Edits> singles;
    for (const std::string& text : texts) {
      if (auto edits = advise::ParseEdits(text)) {
        singles.push_back(*std::move(edits));
      }
    }
    return singles;
  }

  void TryAll() {
    const std::vector<Edits> singles = Singles();
    std::vector<std::optional<TriedChange>> tried(singles.size());
    OnThreads(singles.size(), [&](std::size_t i) {
      if (auto one = Try(*editor_, requests_, own_, Joined(before_, singles[i]), Scenario())) {
        tried[i] = *std::move(one);
      }
    });
    constexpr std::int64_t kNotable = 100;
    for (std::size_t i = 0; i < singles.size(); ++i) {
      if (!tried[i]) {
        continue;
      }
      const std::int64_t saves = device_.needs.highest() - tried[i]->reserved_high;
      const std::int64_t notable = device_.needs.highest() / kNotable;
      // People expect of autocast that it saves: where copies of parameters are more, it is said.
      const bool raises = singles[i].front().kind == Edit::Kind::kAutocast && saves < -notable;
      if (saves > notable || raises) {
        rows_.push_back(MakeRow(singles[i].front(), *tried[i]));
        singles_.push_back(singles[i].front());
      }
    }
    if (device_.obstacle == AdviseObstacle::kNone && editor_->Candidates(1).empty()) {
      device_.obstacle = AdviseObstacle::kNoLayers;
    }
  }

  [[nodiscard]] AdviseRow MakeRow(const Edit& edit, const TriedChange& tried) const {
    const KindFacts& facts = FactsOf(edit.kind);
    const Recording& recording = index_.recording();
    AdviseRow row{.device = device_.device,
                  .change = edit.text,
                  .kind = facts.name,
                  .calls = tried.changed.calls,
                  .live_peak = tried.live_peak,
                  .reserved_low = tried.reserved_low,
                  .reserved_high = tried.reserved_high,
                  .saves = SaturatingSubtract(device_.needs.highest(), tried.reserved_high),
                  .error = facts.error,
                  .evidence = facts.evidence,
                  .function = {},
                  .file = {},
                  .changes_numerics = facts.numerics && !IsOffload(edit),
                  .cost = CostOf(edit)};
    if (device_.limit) {
      row.fits = Fits(row.reserved_high, row.error);
    }
    if (const auto& site = tried.changed.site) {
      row.function = recording.Text(site->function);
      row.file = recording.Text(site->caller_file);
      row.line = site->caller_line;
      row.computed_again =
          Ratio(tried.changed.computed_again, std::max<std::int64_t>(tried.changed.forward, 1));
      row.cost += *row.computed_again;
    }
    if (edit.kind == Edit::Kind::kAccumulate) {
      row.passes = edit.count;
    } else if (edit.kind == Edit::Kind::kShard) {
      row.on_other_ranks = tried.changed.state_gone;
    } else if (IsOffload(edit) && tried.changed.state_per_parameter > 0) {
      // Gradients to the host, parameters back.
      row.over_pcie = tried.changed.state_gone / tried.changed.state_per_parameter;
    }
    return row;
  }

  // Of different families, by their rows.
  struct Candidate {
    std::vector<std::size_t> rows;
    double cost = 0;
    double error = 0;
    std::int64_t saves = 0;  // alone, added up
  };

  void AddCandidate(std::vector<std::size_t> rows, std::vector<Candidate>& candidates) const {
    Candidate one{.rows = std::move(rows)};
    for (std::size_t i = 0; i < one.rows.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (FactsOf(singles_[one.rows[i]].kind).family ==
            FactsOf(singles_[one.rows[j]].kind).family) {
          return;
        }
      }
      const AdviseRow& row = rows_[one.rows[i]];
      if (row.saves < 0) {
        return;
      }
      one.cost += row.cost;
      one.error += row.error;
      one.saves = SaturatingAdd(one.saves, row.saves);
    }
    candidates.push_back(std::move(one));
  }

  // One to three, the cheapest first.
  [[nodiscard]] std::vector<Candidate> Candidates() const {
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      AddCandidate({i}, candidates);
      for (std::size_t j = i + 1; j < rows_.size(); ++j) {
        AddCandidate({i, j}, candidates);
        for (std::size_t k = j + 1; k < rows_.size(); ++k) {
          AddCandidate({i, j, k}, candidates);
        }
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
    return candidates;
  }

  // Sets that fit: first those whose savings would do if they added up, then cheaper ones, which
  // may save more together than alone. What is more than a set that fits is none.
  void TrySets() {
    if (device_.limit && !device_.fits_now) {
      const std::vector<Candidate> candidates = Candidates();
      constexpr double kMore = 1.5;
      TrySets(candidates, 1.0, 24);
      TrySets(candidates, kMore, 16);
      std::stable_sort(device_.sets.begin(), device_.sets.end(),
                       [](const AdviseSet& a, const AdviseSet& b) { return a.cost < b.cost; });
      device_.sets.resize(std::min(device_.sets.size(), kWantedSets));
    }
    Sort();
  }

  void TrySets(const std::vector<Candidate>& candidates, double factor, std::size_t most) {
    constexpr std::size_t kAtOnce = 8;
    const std::vector<const Candidate*> chosen = Choose(candidates, factor, most);
    for (std::size_t begin = 0; begin < chosen.size(); begin += kAtOnce) {
      TryAtOnce(std::span(chosen).subspan(begin, std::min(kAtOnce, chosen.size() - begin)));
      if (device_.sets.size() >= kWantedSets) {
        return;
      }
    }
  }

  // Those that may fit when what they save adds up to `factor` times as much.
  std::vector<const Candidate*> Choose(const std::vector<Candidate>& candidates, double factor,
                                       std::size_t most) {
    const double room = static_cast<double>(*device_.limit) * (1 - query_.headroom);
    const bool enough = device_.sets.size() >= kWantedSets;
    std::vector<const Candidate*> chosen;
    for (const Candidate& one : candidates) {
      const double left =
          static_cast<double>(device_.needs.highest()) - factor * static_cast<double>(one.saves);
      const bool may =
          left * (1 + one.error) <= room && (!enough || one.cost < device_.sets.back().cost);
      if (may && chosen.size() < most && tried_.insert(one.rows).second) {
        chosen.push_back(&one);
      }
    }
    return chosen;
  }

  void TryAtOnce(std::span<const Candidate* const> chosen) {
    std::vector<std::optional<TriedChange>> tried(chosen.size());
    OnThreads(chosen.size(), [&](std::size_t i) {
      if (IncludesFitting(chosen[i]->rows)) {
        return;
      }
      Edits edits = before_;
      for (const std::size_t row : chosen[i]->rows) {
        edits.push_back(singles_[row]);
      }
      if (auto one = Try(*editor_, requests_, own_, std::move(edits), Scenario())) {
        tried[i] = *std::move(one);
      }
    });
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const Candidate& one = *chosen[i];
      if (tried[i] && Fits(tried[i]->reserved_high, one.error) && !IncludesFitting(one.rows)) {
        AddSet(one, *tried[i]);
      }
    }
  }

  [[nodiscard]] bool IncludesFitting(const std::vector<std::size_t>& rows) const {
    return std::any_of(fitting_.begin(), fitting_.end(), [&rows](const auto& set) {
      return std::includes(rows.begin(), rows.end(), set.begin(), set.end());
    });
  }

  void AddSet(const Candidate& one, const TriedChange& tried) {
    AdviseSet set{.device = device_.device,
                  .changes = {},
                  .live_peak = tried.live_peak,
                  .reserved_low = tried.reserved_low,
                  .reserved_high = tried.reserved_high,
                  .error = one.error,
                  .cost = one.cost};
    for (const std::size_t row : one.rows) {
      set.changes.push_back(rows_[row].change);
    }
    fitting_.push_back(one.rows);
    device_.sets.push_back(std::move(set));
  }

  void Sort() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const AdviseRow& a, const AdviseRow& b) {
      const bool a_fits = a.fits.value_or(false);
      const bool b_fits = b.fits.value_or(false);
      return std::tuple(!a_fits, a_fits ? a.cost : 0.0, -a.saves) <
             std::tuple(!b_fits, b_fits ? b.cost : 0.0, -b.saves);
    });
  }

  const HistoryIndex& index_;
  const Trace& trace_;
  const AdviseQuery& query_;
  AdviseDevice device_;
  whatif::AllocatorSettings own_;
  whatif::Requests requests_;
  std::optional<Editor> editor_;
  Edits before_;  // what all are tried after
  bool failed_early_ = false;
  bool cut_ = false;  // before a failure
  std::vector<AdviseRow> rows_;
  std::vector<Edit> singles_;  // beside rows_
  static constexpr std::size_t kWantedSets = 3;
  std::set<std::vector<std::size_t>> tried_;
  std::vector<std::vector<std::size_t>> fitting_;
};

}  // namespace

std::vector<std::pair<std::string_view, double>> AdviseCosts() {
  std::vector<std::pair<std::string_view, double>> costs;
  for (const KindFacts& facts : kKinds) {
    if (facts.kind != Edit::Kind::kNextStep && facts.kind != Edit::Kind::kDrop) {
      costs.emplace_back(facts.name, facts.cost);
    }
  }
  return costs;
}

Result<AdviseAnswer> Advise(const HistoryIndex& index, const AdviseQuery& query) {
  auto traces = GetTraces(index.recording(), query.device);
  MEMTOOL_TRY(traces);
  AdviseAnswer answer;
  answer.card = query.card;
  answer.headroom = query.headroom;
  for (const std::size_t row : *traces) {
    MEMTOOL_TRY(Adviser(index, index.history().traces[row], query).Make(answer));
  }
  return answer;
}

}  // namespace memtool
