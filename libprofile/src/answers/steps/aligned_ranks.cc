#include "memtool/profile/answers/aligned_ranks.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace memtool {

namespace {

Value NameOrNull(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

constexpr auto kAlignedRankFields = Fields<AlignedRank>({
    {"rank", "RANK", Unit::kOrdinal, &AlignedRank::rank},
    {"base", "BASE", Unit::kBytes, &AlignedRank::base},
    {"new", "NEW", Unit::kBytes, &AlignedRank::now},
    {"delta", "DELTA", Unit::kBytes, [](const AlignedRank& row) { return Value(row.delta()); }},
    {"step", "STEP", Unit::kOrdinal, &AlignedRank::step},
    {"steps", "STEPS", Unit::kCount, [](const AlignedRank& row) { return Value(row.steps); }},
    {"partner_share", "PARTNERS", Unit::kRatio,
     [](const AlignedRank& row) { return row.compared ? Value(row.partners) : Value(); }},
    {"by", "BY", Unit::kBytes, &AlignedRank::by},
    {"name", "WHERE", Unit::kText, [](const AlignedRank& row) { return NameOrNull(row.name); }},
    {"file", "", Unit::kText, [](const AlignedRank& row) { return NameOrNull(row.file); }},
    {"base_path", "", Unit::kText, &AlignedRank::base_path},
    {"path", "FILE", Unit::kText, &AlignedRank::path},
    {"problem", "PROBLEM", Unit::kText,
     [](const AlignedRank& row) { return NameOrNull(row.problem); }},
});

}  // namespace

AlignedRank RankOf(std::int64_t rank, const AlignedAnswer& aligned) {
  AlignedRank row{.rank = rank, .base = aligned.base_peak, .now = aligned.now_peak};
  if (!aligned.shown) {
    return row;
  }
  const AlignedStep& step = aligned.steps[*aligned.shown];
  row.compared = true;
  row.base = step.pair.peak.base;
  row.now = step.pair.peak.now;
  row.step = step.now_step;
  row.steps = aligned.steps.size();
  row.partners = aligned.partner_share();
  if (!aligned.rows.empty()) {
    row.name = aligned.rows.front().name;
    row.file = aligned.rows.front().file;
    row.by = aligned.rows.front().delta();
  }
  return row;
}

AlignedRanksAnswer JoinAlignedRanks(std::vector<AlignedRank> ranks) {
  AlignedRanksAnswer answer;
  answer.ranks = std::move(ranks);
  std::sort(
      answer.ranks.begin(), answer.ranks.end(), [](const AlignedRank& a, const AlignedRank& b) {
        return std::tuple(Magnitude(b.delta()), a.rank) < std::tuple(Magnitude(a.delta()), b.rank);
      });
  for (const AlignedRank& row : answer.ranks) {
    answer.compared += row.compared ? 1 : 0;
    answer.grew += row.compared && row.delta() > 0 ? 1 : 0;
    answer.shrank += row.compared && row.delta() < 0 ? 1 : 0;
  }
  return answer;
}

AnswerView ViewOf(const AlignedRanksAnswer& answer) {
  return ViewRows(answer.head,
                  {{"compared", answer.compared},
                   {"grew", answer.grew},
                   {"shrank", answer.shrank},
                   {"only_base", Value::List(answer.only_base.begin(), answer.only_base.end())},
                   {"only_new", Value::List(answer.only_new.begin(), answer.only_new.end())}},
                  answer.ranks, kAlignedRankFields);
}

}  // namespace memtool
