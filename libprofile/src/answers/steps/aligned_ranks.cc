#include "memtool/profile/answers/aligned_ranks.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace memtool {

namespace {

Value NameOrNull(std::string_view text) {
  return text.empty() ? Value() : Value(text);
}

constexpr auto kAlignedRankFields = Fields<AlignedRank>({
    {"rank", "RANK", Unit::kOrdinal, &AlignedRank::rank, "the rank", kPlain, "natural"},
    {"base", "BASE", Unit::kBytes, &AlignedRank::base,
     "what it held at the peak of its highest step in the base", Drop(3)},
    {"new", "NEW", Unit::kBytes, &AlignedRank::now,
     "what it holds at the peak of its highest step now", Drop(2)},
    {"delta", "DELTA", Unit::kBytes, [](const AlignedRank& row) { return Value(row.delta()); },
     "NEW minus BASE", kSigns},
    {"step", "STEP", Unit::kOrdinal, &AlignedRank::step, "which step of the new run that is"},
    {"steps", "STEPS", Unit::kCount, [](const AlignedRank& row) { return Value(row.steps); },
     "how many steps correspond", Drop(5), "natural"},
    {"partner_share", "PARTNERS", Unit::kRatio,
     [](const AlignedRank& row) { return row.compared ? Value(row.partners) : Value(); },
     "how many allocations have a partner in the other run", Drop(4), "number|null"},
    {"by", "BY", Unit::kBytes, &AlignedRank::by, "how much of it is in the row that changed most"},
    {"name", "MOST OF IT", Unit::kText, [](const AlignedRank& row) { return NameOrNull(row.name); },
     "the row that changed most", Drop(1), "string|null"},
    {"file", "", Unit::kText, [](const AlignedRank& row) { return NameOrNull(row.file); },
     "the file that the name is in", kPlain, "string|null"},
    {"base_path", "", Unit::kText, &AlignedRank::base_path, "the file of the base"},
    {"path", "FILE", Unit::kText, &AlignedRank::path, "the file of the new run", Drop(6) | kPath},
    {"problem", "", Unit::kText, [](const AlignedRank& row) { return NameOrNull(row.problem); },
     "why it could not be compared", kPlain, "string|null"},
});

}  // namespace

AlignedRank MakeRank(std::int64_t rank, const AlignedAnswer& aligned) {
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

std::span<const Field<AlignedRank>> AlignedRankFields() {
  return kAlignedRankFields;
}

AnswerView MakeView(const AlignedRanksAnswer& answer) {
  return ViewRows(answer.head,
                  {{"compared", answer.compared},
                   {"grew", answer.grew},
                   {"shrank", answer.shrank},
                   {"only_base", Value::List(answer.only_base.begin(), answer.only_base.end())},
                   {"only_new", Value::List(answer.only_new.begin(), answer.only_new.end())}},
                  answer.ranks, kAlignedRankFields);
}

}  // namespace memtool
