#include "memtool/profile/answers/top.h"

#include <algorithm>
#include <span>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/extent.h"
#include "memtool/profile/rows/diff.h"
#include "memtool/profile/rows/saves.h"

namespace memtool {

TopMaker::TopMaker(TopQuery query) : query_(std::move(query)), table_(query_.by, space_) {}

void TopMaker::Add(Selection selection, std::string_view process) {
  head_.Add(selection);
  table_.Add(MakeInput(selection, process));
  if (selection.history() != nullptr && selection.moment().kind == MomentSpec::Kind::kPeak &&
      ExtentOf(selection.source()) == Extent::kWhole && query_.by.kind == By::Kind::kFrame) {
    histories_.push_back(std::move(selection));  // for what rows are worth at the peak
  }
}

void TopMaker::AddBase(const Selection& selection) {
  head_.Add(selection);
  if (!base_) {
    base_.emplace(query_.by, space_);
  }
  base_->Add(MakeInput(selection));
}

// Flat and cum become differences; rows without one are left out.
TopAnswer TopMaker::AgainstBase() {
  TopAnswer answer{.head = std::move(head_), .by = table_.by(), .unfiltered = base_->unfiltered()};
  for (DiffRow& row : DiffRows(base_->Rows(query_.sort), table_.Rows(query_.sort), query_.sort)) {
    if (row.delta() != 0 || row.delta_cum() != 0) {
      answer.rows.push_back({.name = std::move(row.name),
                             .file = std::move(row.file),
                             .line = row.line,
                             .more_lines = row.more_lines,
                             .flat = row.delta(),
                             .cum = row.delta_cum(),
                             .via = std::move(row.via)});
    }
  }
  answer.total = SaturatingSubtract(table_.total(), base_->total());
  answer.new_total = table_.total();
  answer.base_total = base_->total();
  return answer;
}

// What the peak would be without each of the first rows.
void TopMaker::AddPeaks(std::vector<Row>& rows, TopAnswer& answer) {
  if (histories_.empty() || answer.by.kind != By::Kind::kFrame ||
      histories_.front().view().has_label_frames()) {
    return;
  }
  const std::size_t count =
      query_.peak_rows == 0 ? rows.size() : std::min(query_.peak_rows, rows.size());
  if (count == 0) {
    return;
  }
  answer.peak = 0;
  for (std::size_t i = 0; i < count; ++i) {
    answer.rows[i].peak_without = answer.rows[i].peak_without_cum = 0;
  }
  for (const Selection& selection : histories_) {
    for (const MomentOfTrace& moment : selection.moments()) {
      answer.peak = SaturatingAdd(*answer.peak, moment.summary.peak_bytes);
    }
    const auto without =
        PeakWithoutRows(*selection.history(), selection.view(), selection.moments(),
                        {.rows = std::span(rows).first(count),
                         .granularity = answer.by.granularity,
                         .space = &space_,
                         .with_callees = query_.peak_with_callees});
    const auto add = [](std::optional<std::int64_t>& sum, std::optional<std::int64_t> peak) {
      sum = sum && peak ? std::optional(SaturatingAdd(*sum, *peak)) : std::nullopt;
    };
    for (std::size_t i = 0; i < count; ++i) {
      add(answer.rows[i].peak_without, without[i].own);
      add(answer.rows[i].peak_without_cum, without[i].with_callees);
    }
  }
  const auto rows_of_answer = std::span(answer.rows).first(count);
  if (std::none_of(rows_of_answer.begin(), rows_of_answer.end(),
                   [](const TopRow& row) { return row.peak_without || row.peak_without_cum; })) {
    answer.peak.reset();  // known of none: nothing to show
  }
}

TopAnswer TopMaker::Make() && {
  if (base_) {
    return AgainstBase();
  }
  TopAnswer answer{.head = std::move(head_),
                   .by = table_.by(),
                   .total = table_.total(),
                   .unfiltered = table_.unfiltered(),
                   .total_abs = table_.total_abs(),
                   .unknown = table_.unknown(),
                   .saturated = table_.saturated()};
  std::vector<Row> rows = table_.Rows(query_.sort);
  for (const Row& row : rows) {
    answer.rows.push_back({.name = row.name,
                           .file = row.file,
                           .line = row.line,
                           .more_lines = row.more_lines,
                           .flat = row.value.flat,
                           .cum = row.value.cum,
                           .via = row.via,
                           .unknown = row.value.unknown,
                           .unknown_cum = row.value.unknown_cum});
  }
  AddPeaks(rows, answer);
  return answer;
}

TopAnswer Top(Selection selection, TopQuery query) {
  TopMaker maker(std::move(query));
  maker.Add(std::move(selection));
  return std::move(maker).Make();
}

AnswerView MakeView(const TopAnswer& answer) {
  using Figures = std::vector<NamedValue>;
  Figures figures = answer.base_total
                        ? Figures{{"total", answer.total}, {"total_base", *answer.base_total}}
                        : Figures{{"total", answer.total},
                                  {"total_unfiltered", answer.unfiltered},
                                  {"total_abs", answer.total_abs},
                                  {"unknown", answer.unknown}};
  std::vector<Field<TopRow>> fields(kTopFields.begin(), kTopFields.end());
  if (!answer.peak) {
    std::erase_if(fields,
                  [](const Field<TopRow>& field) { return field.key.starts_with("peak_without"); });
  }
  return ViewRows<TopRow>(answer.head, std::move(figures), answer.rows, std::move(fields));
}

}  // namespace memtool
