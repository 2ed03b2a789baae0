#include "memtool/profile/answers/oom_inputs.h"

#include <algorithm>
#include <map>

#include "answers/oom/oom_order.h"
#include "answers/oom/oom_table_rows.h"
#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

std::string Shown(std::string_view path) {
  return path == "-" ? "standard input" : std::string(path);
}

}  // namespace

void OomInputsMaker::Add(const Selection& selection) {
  answer_.head.Add(selection);
  OomInputRow row{.input = Shown(selection.name()), .found = MakeCase(selection)};
  row.found->place.rank = RankOfPath(selection.name());
  for (const MomentOfTrace& moment : selection.moments()) {
    row.failures += static_cast<std::int64_t>(moment.summary.ooms.size());
  }
  answer_.rows.push_back(std::move(row));
}

bool OomInputsMaker::Add(const OomMessages& messages, std::string_view device,
                         std::string_view path) {
  OomInputRow row{.input = Shown(path), .failures = messages.found};
  if (!messages.kept.empty()) {
    const auto number = ChooseMessage(messages, std::nullopt, device);
    if (!number) {
      return false;
    }
    row.found = MakeCase(WithTables(messages, *number));
    if (!row.found->place.rank) {
      row.found->place.rank = RankOfPath(path);
    }
  }
  answer_.head.inputs.push_back({.path = row.input, .format = "oom-text"});
  answer_.rows.push_back(std::move(row));
  return true;
}

// A log's clock and a snapshot's may be hours apart, and a log without years is in no year.
void OomInputsMaker::SortByTime() {
  const auto failed = [](const OomInputRow& row) { return row.found && row.found->failed; };
  const OomInputRow* first = nullptr;
  for (const OomInputRow& row : answer_.rows) {
    if (!failed(row)) {
      continue;
    }
    first = first == nullptr ? &row : first;
    if (!row.found->time || row.found->snapshot != first->found->snapshot ||
        HasYear(*row.found->time) != HasYear(*first->found->time)) {
      return;
    }
  }
  if (first == nullptr) {
    return;
  }
  answer_.by_time = true;
  std::stable_sort(answer_.rows.begin(), answer_.rows.end(),
                   [&failed](const OomInputRow& a, const OomInputRow& b) {
                     return failed(a) && (!failed(b) || *a.found->time < *b.found->time);
                   });
  const OomCase& earliest = *answer_.rows.front().found;
  if (answer_.rows.size() > 1 && failed(answer_.rows[1]) && earliest.place.rank) {
    const OomCase& next = *answer_.rows[1].found;
    if (next.place.rank && *next.place.rank != *earliest.place.rank) {
      answer_.order = OomOrder{.first = *earliest.place.rank,
                               .next = *next.place.rank,
                               .nanos = SaturatingSubtract(*next.time, *earliest.time)};
    }
  }
}

OomInputsAnswer OomInputsMaker::Make() && {
  SortByTime();
  std::map<std::string, std::int64_t> verdicts;
  for (const OomInputRow& row : answer_.rows) {
    if (row.found && row.found->failed) {
      ++answer_.failed;
      ++verdicts[std::string(VerdictName(*row.found))];
    }
  }
  answer_.verdicts.assign(verdicts.begin(), verdicts.end());
  return std::move(answer_);
}

AnswerView MakeView(const OomInputsAnswer& answer) {
  const Value order = answer.order ? Value(Value::Object{{"first", answer.order->first},
                                                         {"next", answer.order->next},
                                                         {"nanos", answer.order->nanos}})
                                   : Value();
  return ViewRows(
      answer.head,
      {{"failed", answer.failed}, {"by_time", answer.by_time ? 1 : 0}, {"order", order}},
      answer.rows, kOomInputFields);
}

}  // namespace memtool
