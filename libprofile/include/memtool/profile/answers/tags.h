// How much each label holds: devices, kinds, user annotations.
#pragma once

#include <cstdint>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/rows/tags.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

// Amounts are in the unit of the answer. A sample counts for each of its labels.
struct TagsAnswer {
  AnswerHead head{.question = "tags"};
  std::vector<TagRow> rows;  // by key, then the largest first
  std::int64_t total = 0;    // of the samples, with labels or without
  std::int64_t unknown = 0;  // allocations of unknown size, of the row that has the most
};

inline constexpr auto kTagsFields = Fields<TagRow>({
    {"bytes", "AMOUNT", Unit::kAmount, &TagRow::bytes, "what has this label"},
    {"share", "OF TOTAL", Unit::kRatio, kInWords, "AMOUNT as a share of the total", Drop(2)},
    {"count", "COUNT", Unit::kCount, &TagRow::count, "how many allocations have it", Drop(1)},
    {"key", "KEY", Unit::kText, &TagRow::key, "the key of the label", kFixed},
    {"value", "VALUE", Unit::kText, &TagRow::value, "its value"},
    {"unknown", "", Unit::kCount, &TagRow::unknown,
     "allocations of unknown size that have it; they are in no sum"},
});

AnswerView MakeView(const TagsAnswer& answer);

// Adds up any number of inputs, one after the other.
class TagsMaker {
 public:
  // `process`: a name for the one that wrote the input, where several did (TextOfProcess).
  void Add(const Selection& selection, std::string_view process = {});
  TagsAnswer Make() &&;

 private:
  AnswerHead head_{.question = "tags"};
  TagTable table_;
};

TagsAnswer Tags(const Selection& selection);

}  // namespace memtool
