#include "memtool/profile/account/ledger_check.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

// said = plus... - minus...; what is optional counts where the log has it, and may be left out.
struct Rule {
  std::string_view producer;
  std::string_view said;
  std::string_view plus;                   // or all parts, where it is empty
  std::array<std::string_view, 4> minus;   // those that the log has
  std::array<std::string_view, 2> needed;  // of these at least
  std::string_view planned;                // a plan that newer versions take off as well
};
constexpr std::array kRules = {
    Rule{"vLLM",
         "kv_cache",
         "requested",
         {"weights", "non_framework", "consumed", "activations"},
         {"requested", "activations"},
         "graphs"},
    Rule{"TensorRT-LLM", "peak_used", "", {}, {"weights", "activations"}, ""},
};

using Place = std::tuple<std::uint32_t, std::uint32_t, std::int32_t>;  // run, process, rank

Place PlaceOf(const Statement& statement) {
  return {statement.run, statement.process.valid() ? statement.process.value() + 1 : 0,
          statement.rank};
}

// The amounts of one run of a process, by name.
class Amounts {
 public:
  void Take(const Statement& statement) {
    Figure& figure = statement.kind == StatementKind::kPlan ? planned_[statement.what().name]
                                                            : figures_[statement.what().name];
    figure = {statement.value, std::max(statement.below, statement.above)};
  }
  struct Figure {
    std::int64_t bytes = 0;
    std::int64_t precision = 0;
  };
  [[nodiscard]] std::optional<Figure> Find(std::string_view name, bool planned = false) const {
    const auto& map = planned ? planned_ : figures_;
    const auto at = map.find(name);
    return at == map.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::map<std::string_view, Figure> figures_;
  std::map<std::string_view, Figure> planned_;
};

std::string_view TitleOf(std::string_view name) {
  return AmountKinds()[*FindAmount(name)].title;
}

class Sum {
 public:
  void Add(const Amounts::Figure& figure, int sign, std::string_view name) {
    bytes = sign > 0 ? SaturatingAdd(bytes, figure.bytes) : SaturatingSubtract(bytes, figure.bytes);
    precision = SaturatingAdd(precision, figure.precision);
    text += text.empty() ? "" : sign > 0 ? " + " : " - ";
    text += TitleOf(name);
  }
  std::int64_t bytes = 0;
  std::int64_t precision = 0;
  std::string text;
};

std::optional<LedgerCheck> Apply(const Rule& rule, const Statement& statement,
                                 const Amounts& amounts) {
  for (const std::string_view name : rule.needed) {
    if (!name.empty() && !amounts.Find(name)) {
      return std::nullopt;
    }
  }
  Sum sum;
  if (rule.plus.empty()) {
    for (const AmountKind& kind : AmountKinds()) {
      if (const auto figure = amounts.Find(kind.name);
          figure && kind.role == AmountRole::kPart && kind.name != "kv_cache") {
        sum.Add(*figure, 1, kind.name);
      }
    }
  } else {
    sum.Add(*amounts.Find(rule.plus), 1, rule.plus);
  }
  const bool consumed = amounts.Find("consumed").has_value();
  for (const std::string_view name : rule.minus) {
    // What was consumed has the weights and what is outside in it.
    const bool inside = consumed && (name == "weights" || name == "non_framework");
    if (const auto figure = name.empty() || inside ? std::nullopt : amounts.Find(name)) {
      sum.Add(*figure, -1, name);
    }
  }
  const auto planned = rule.planned.empty() ? std::nullopt : amounts.Find(rule.planned, true);
  const std::int64_t precision =
      SaturatingAdd(sum.precision, std::max(statement.below, statement.above));
  if (planned && SaturatingSubtract(sum.bytes, statement.value) > precision) {
    sum.Add(*planned, -1, rule.planned);
  }
  return LedgerCheck{.line = statement.line,
                     .producer = std::string(rule.producer),
                     .amount = statement.amount,
                     .formula = sum.text,
                     .said = statement.value,
                     .computed = sum.bytes,
                     .precision = SaturatingAdd(sum.precision, statement.above)};
}

const Rule* RuleFor(const Recording& recording, const Statement& statement) {
  const auto* const rule = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& each) {
    return each.producer == recording.Text(statement.producer) &&
           each.said == statement.what().name;
  });
  return rule == kRules.end() || statement.kind == StatementKind::kPlan ? nullptr : rule;
}

class Checker {
 public:
  explicit Checker(const Recording& recording) : recording_(recording) {
    for (const Statement& statement : recording.statements) {
      if (statement.what().role != AmountRole::kCount && !statement.adds) {
        amounts_[PlaceOf(statement)].Take(statement);
      }
      if (RuleFor(recording, statement) != nullptr) {
        SumOf(statement).last = &statement;
      }
    }
  }

  // What follows from other amounts of the run. What is said again is the more exact.
  void Follow(const Statement& statement) {
    const Rule* rule = RuleFor(recording_, statement);
    if (rule == nullptr || SumOf(statement).last != &statement) {
      return;
    }
    if (auto check = Apply(*rule, statement, amounts_[PlaceOf(statement)])) {
      checks_.push_back(*std::move(check));
    }
  }

  // The sum of the lines since the sum before, of all devices.
  void AddUp(const Statement& statement) {
    const bool of_one = statement.device.valid() || statement.host;
    if (statement.what().role != AmountRole::kPart ||
        (of_one && statement.kind == StatementKind::kSum)) {
      return;
    }
    Amounts::Figure& sum = SumOf(statement).figure;
    if (statement.kind == StatementKind::kMeasured && statement.adds) {
      sum.bytes = SaturatingAdd(sum.bytes, statement.value);
      sum.precision = SaturatingAdd(sum.precision, statement.above);
    } else if (statement.kind == StatementKind::kSum && sum.bytes > 0) {
      checks_.push_back({.line = statement.line,
                         .producer = std::string(recording_.Text(statement.producer)),
                         .amount = statement.amount,
                         .formula = "the lines above",
                         .said = statement.value,
                         .computed = sum.bytes,
                         .precision = SaturatingAdd(sum.precision, statement.above)});
      sum = {};
    }
  }

  std::vector<LedgerCheck> Take() && { return std::move(checks_); }

 private:
  struct SinceSum {
    Amounts::Figure figure;           // of the lines since the last sum
    const Statement* last = nullptr;  // of those that a rule is for
  };
  SinceSum& SumOf(const Statement& statement) {
    return sums_[{PlaceOf(statement), statement.amount}];
  }

  const Recording& recording_;
  std::map<Place, Amounts> amounts_;
  std::vector<LedgerCheck> checks_;
  std::map<std::pair<Place, std::uint8_t>, SinceSum> sums_;
};

}  // namespace

bool LedgerCheck::holds() const {
  return Magnitude(SaturatingSubtract(said, computed)) <= precision;
}

std::vector<LedgerCheck> CheckLedger(const Recording& recording) {
  Checker checker(recording);
  for (const Statement& statement : recording.statements) {
    checker.Follow(statement);
    checker.AddUp(statement);
  }
  return std::move(checker).Take();
}

}  // namespace memtool
