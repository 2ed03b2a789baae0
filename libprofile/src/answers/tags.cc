#include "memtool/profile/answers/tags.h"

#include <algorithm>
#include <utility>

namespace memtool {

void TagsMaker::Add(const Selection& selection, std::string_view process) {
  head_.Add(selection);
  table_.Add(MakeInput(selection, process));
}

TagsAnswer TagsMaker::Make() && {
  TagsAnswer answer{.head = std::move(head_), .rows = table_.Rows(), .total = table_.total()};
  for (const TagRow& row : answer.rows) {
    answer.unknown = std::max(answer.unknown, row.unknown);
  }
  return answer;
}

TagsAnswer Tags(const Selection& selection) {
  TagsMaker maker;
  maker.Add(selection);
  return std::move(maker).Make();
}

AnswerView MakeView(const TagsAnswer& answer) {
  return ViewRows(answer.head, {{"total", answer.total}}, answer.rows, kTagsFields);
}

}  // namespace memtool
