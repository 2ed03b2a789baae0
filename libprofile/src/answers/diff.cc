#include "memtool/profile/answers/diff.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

void Normalize(const std::vector<Selection>& bases, std::vector<Selection>& news) {
  const auto total = [](const std::vector<Selection>& side) {
    std::int64_t sum = 0;
    for (const Selection& selection : side) {
      sum = SaturatingAdd(sum, selection.sums().total);
    }
    return sum;
  };
  const std::int64_t whole = total(news);
  if (whole == 0) {
    return;
  }
  const double scale = Ratio(total(bases), whole);
  for (Selection& selection : news) {
    selection = selection.ScaledBy(scale);
  }
}

// The inputs of one side and their rows.
class Side {
 public:
  Side(const std::vector<Selection>& selections, const By& by, NodeSpace& space)
      : table_(by, space) {
    for (const Selection& selection : selections) {
      inputs_.push_back(MakeInput(selection));
      table_.Add(inputs_.back());
    }
  }

  [[nodiscard]] const Tabulator& table() const { return table_; }
  [[nodiscard]] const std::vector<Input>& inputs() const { return inputs_; }

 private:
  std::vector<Input> inputs_;
  Tabulator table_;
};

DiffUnchanged Unchanged(std::span<const DiffRow> rows) {
  DiffUnchanged unchanged;
  const DiffRow* largest = nullptr;
  for (const DiffRow& row : rows) {
    if (row.now.flat == 0) {
      continue;
    }
    ++unchanged.rows;
    unchanged.amount = SaturatingAdd(unchanged.amount, row.now.flat);
    if (largest == nullptr || Magnitude(row.now.flat) > Magnitude(largest->now.flat)) {
      largest = &row;
    }
  }
  if (largest != nullptr) {
    unchanged.largest = *largest;
  }
  return unchanged;
}

void Count(DiffAnswer& answer) {
  for (const DiffRow& row : answer.rows) {
    answer.grew += row.delta() > 0 ? 1 : 0;
    answer.shrank += row.delta() < 0 ? 1 : 0;
    answer.new_rows += row.status == DiffStatus::kNew ? 1 : 0;
    answer.gone_rows += row.status == DiffStatus::kGone ? 1 : 0;
  }
}

GrowthGate MakeGate(const DiffAnswer& answer, const GrowthLimit& limit) {
  if (!limit.ratio && !limit.amount) {
    return GrowthGate::kNone;
  }
  const bool exceeded = (limit.ratio && answer.growth > *limit.ratio && answer.total > 0) ||
                        (limit.amount && answer.total > *limit.amount);
  return exceeded ? GrowthGate::kExceeded : GrowthGate::kWithin;
}

}  // namespace

double GrowthRatio(std::int64_t base, std::int64_t delta) {
  return base == 0 ? HUGE_VAL : static_cast<double>(delta) / std::abs(static_cast<double>(base));
}

std::string_view DiffStatusName(DiffStatus status) {
  switch (status) {
    case DiffStatus::kNew:
      return "new";
    case DiffStatus::kGone:
      return "gone";
    case DiffStatus::kChanged:
      return "changed";
    case DiffStatus::kUnchanged:
      return "unchanged";
  }
  return "";
}

DiffAnswer Diff(const std::vector<Selection>& bases, std::vector<Selection> news,
                const DiffQuery& query) {
  if (query.normalize) {
    Normalize(bases, news);
  }
  NodeSpace space;
  const Side base(bases, query.by, space);
  const Side now(news, query.by, space);
  DiffAnswer answer{
      .by = now.table().by(),
      .sort = query.sort,
      .rows = DiffRows(base.table().Rows(query.sort), now.table().Rows(query.sort), query.sort),
      .base_total = base.table().total(),
      .new_total = now.table().total(),
      .total = SaturatingSubtract(now.table().total(), base.table().total()),
      .unknown_base = base.table().unknown(),
      .unknown_new = now.table().unknown(),
      .saturated = base.table().saturated() || now.table().saturated()};
  for (const auto& side : {std::span(bases), std::span<const Selection>(news)}) {
    for (const Selection& selection : side) {
      answer.head.Add(selection);
    }
  }
  const auto changed = [by_cum = query.sort == SortBy::kCum](const DiffRow& row) {
    return row.delta() != 0 || (by_cum && row.delta_cum() != 0);
  };
  const auto same = std::stable_partition(answer.rows.begin(), answer.rows.end(), changed);
  answer.unchanged = Unchanged(
      std::span(answer.rows).subspan(static_cast<std::size_t>(same - answer.rows.begin())));
  answer.rows.erase(same, answer.rows.end());
  if (answer.by.kind == By::Kind::kFrame) {
    const std::size_t count = query.through_rows == 0
                                  ? answer.rows.size()
                                  : std::min(query.through_rows, answer.rows.size());
    FillThrough(std::span(answer.rows).first(count), base.inputs(), now.inputs(),
                answer.by.granularity, space);
  }
  Count(answer);
  answer.growth = GrowthRatio(answer.base_total, answer.total);
  answer.gate = MakeGate(answer, query.limit);
  return answer;
}

AnswerView MakeView(const DiffAnswer& answer) {
  return ViewRows(answer.head,
                  {{"total", answer.total},
                   {"base_total", answer.base_total},
                   {"new_total", answer.new_total},
                   {"unknown_base", answer.unknown_base},
                   {"unknown_new", answer.unknown_new}},
                  answer.rows, kDiffFields);
}

}  // namespace memtool
