#include "memtool/profile/answers/oom_inputs.h"

#include <map>

namespace memtool {

namespace {

std::string Shown(std::string_view path) {
  return path == "-" ? "standard input" : std::string(path);
}

}  // namespace

void OomInputsMaker::Add(const Selection& selection) {
  answer_.head.Add(selection);
  OomInputRow row{.input = Shown(selection.name()), .found = CaseOf(selection)};
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
    row.found = CaseOf(messages.at(*number));
  }
  answer_.head.inputs.push_back({.path = row.input, .format = "oom-text"});
  answer_.rows.push_back(std::move(row));
  return true;
}

OomInputsAnswer OomInputsMaker::Make() && {
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

AnswerView ViewOf(const OomInputsAnswer& answer) {
  return ViewRows(answer.head, {{"failed", answer.failed}}, answer.rows, kOomInputFields);
}

}  // namespace memtool
