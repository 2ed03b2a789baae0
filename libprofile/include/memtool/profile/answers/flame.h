// What holds memory as one tree of calls: stacks merged from their outermost frame on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

struct FlameQuery {
  Granularity granularity = Granularity::kFileFunction;
  double min_share = 0;   // of the width of the whole; what is narrower is one "(smaller)"
  std::size_t depth = 0;  // levels of frames below the root; 0 = all
  // Of the categories of rows, which are told where it is there; it outlives the answer.
  const Keywords* keywords = nullptr;
};

// A node of the tree. Amounts are in the unit of the answer; of a comparison, those of the new
// inputs. Texts belong to the answer.
struct FlameRow {
  std::int64_t id = 0;                 // its row; the root is 0
  std::optional<std::int64_t> parent;  // none for the root
  std::int64_t depth = 0;              // 0 = the root
  std::string_view name;  // a file or module where that is the node; of the root "(all)"
  std::string_view file;
  std::int64_t line = 0;   // where most of its bytes pass; 0 = none
  std::int64_t bytes = 0;  // of itself and of all it calls
  std::int64_t self = 0;
  std::int64_t left_out = 0;               // of what it calls below the deepest level asked for
  std::optional<std::int64_t> base_bytes;  // of a comparison: the base's `bytes` and `self`
  std::optional<std::int64_t> base_self;
  // Where it is drawn, of FlameAnswer::width: magnitudes, and in a comparison the larger of both
  // sides, so that what is gone has room too and no child is wider than its parent.
  std::int64_t begin = 0;
  std::int64_t width = 0;
  // The category of the first axis that most of `bytes` are of, and how many these are.
  std::string_view bucket{};
  std::int64_t bucket_bytes = 0;

  [[nodiscard]] std::optional<std::int64_t> change() const;
};

struct FlameAnswer {
  AnswerHead head{.question = "flame"};
  bool difference = false;
  bool buckets = false;  // rows tell theirs
  // Callers before callees, those of one caller by name, then by place; "(smaller)" comes last and
  // has all that is in it as its own.
  std::vector<FlameRow> rows;
  std::int64_t total = 0;
  std::int64_t base_total = 0;
  std::int64_t width = 0;
  std::int64_t levels = 0;           // the largest depth of a row
  std::int64_t frames_left_out = 0;  // within "(smaller)" or too deep
  std::shared_ptr<const NodeSpace> names;
};

inline constexpr auto kFlameFields = Fields<FlameRow>({
    {"id", "", Unit::kOrdinal, &FlameRow::id, "the number of the row", kPlain, "natural"},
    {"parent", "", Unit::kOrdinal, &FlameRow::parent, "the row that it is called by", kPlain,
     "natural|null"},
    {"depth", "", Unit::kOrdinal, &FlameRow::depth, "how many rows are above it", kPlain,
     "natural"},
    {"name", "WHERE", Unit::kText, [](const FlameRow& row) { return Value(row.name); },
     "the function"},
    {"file", "", Unit::kText, [](const FlameRow& row) { return Value(row.file); },
     "the file that the name is in"},
    {"line", "", Unit::kOrdinal, [](const FlameRow& row) { return LineValue(row.line); },
     "the line in that file"},
    {"bytes", "BYTES", Unit::kAmount, &FlameRow::bytes,
     "what the frame and everything that it calls hold"},
    {"self", "SELF", Unit::kAmount, &FlameRow::self, "what the frame itself holds"},
    {"left_out", "", Unit::kAmount, &FlameRow::left_out,
     "what lies in callees too small to have a row"},
    {"base_bytes", "BASE", Unit::kAmount, &FlameRow::base_bytes, "BYTES in the base"},
    {"base_self", "", Unit::kAmount, &FlameRow::base_self,
     "what the frame itself held in the base"},
    {"change", "CHANGE", Unit::kAmount,
     [](const FlameRow& row) {
       const auto change = row.change();
       return change ? Value(*change) : Value();
     },
     "BYTES minus BASE", kPlain, "integer|null"},
    {"bucket", "", Unit::kText,
     [](const FlameRow& row) { return row.bucket.empty() ? Value() : Value(row.bucket); },
     "the category that most of BYTES are of; with --buckets", kPlain, "string|null?"},
    {"bucket_bytes", "", Unit::kAmount, [](const FlameRow& row) { return Value(row.bucket_bytes); },
     "how many these are", kPlain, "integer?"},
});

AnswerView MakeView(const FlameAnswer& answer);

// All inputs of a side count as one. Without bases there is no comparison.
FlameAnswer Flame(const std::vector<Selection>& bases, const std::vector<Selection>& inputs,
                  const FlameQuery& query);

}  // namespace memtool
