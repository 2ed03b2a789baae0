// Functions between their callers and callees: a block of rows per function, the largest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/name_pattern.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

struct TreeQuery {
  Granularity granularity = Granularity::kFileFunction;
  SortBy sort = SortBy::kFlat;
  std::size_t functions = 0;         // how many blocks; 0 = all
  std::optional<NamePattern> names;  // of functions; none = all
};

enum class TreeRelation : std::uint8_t { kCaller, kSelf, kCallee };

// Amounts are in the unit of the answer.
struct TreeRow {
  TreeRelation relation = TreeRelation::kSelf;
  std::optional<std::int64_t> flat{};    // of the function itself
  std::optional<std::int64_t> cum{};     // likewise
  std::optional<std::int64_t> weight{};  // of the others: what flows through the call
  std::string node;                      // the function that the block is about
  std::string name;                      // of the row; a file or module where that is the node
  std::string file;
  std::int64_t line = 0;  // 0 = none
};

struct TreeAnswer {
  AnswerHead head{.question = "tree"};
  std::vector<TreeRow> rows;        // per block: callers, the function, callees; heaviest first
  std::vector<std::size_t> blocks;  // where they begin; one per function that is shown
  std::int64_t total = 0;           // of the inputs, before filters
  std::int64_t functions = 0;       // all there are, shown or not
};

// "caller", "self", "callee"
std::string_view TreeRelationName(TreeRelation relation);

inline constexpr auto kTreeFields = Fields<TreeRow>({
    {"flat", "FLAT", Unit::kAmount, &TreeRow::flat},
    {"cum", "CUM", Unit::kAmount, &TreeRow::cum},
    {"weight", "FLOWS", Unit::kAmount, &TreeRow::weight},
    {"relation", "", Unit::kText,
     [](const TreeRow& row) { return Value(TreeRelationName(row.relation)); }},
    {"node", "", Unit::kText, &TreeRow::node},
    {"name", "WHERE", Unit::kText, &TreeRow::name},
    {"file", "", Unit::kText, &TreeRow::file},
});

// Its blocks were chosen whole: no limit cuts rows.
AnswerView ViewOf(const TreeAnswer& answer);

TreeAnswer Tree(const std::vector<Selection>& inputs, const TreeQuery& query);

}  // namespace memtool
