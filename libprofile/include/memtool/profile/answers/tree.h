// Functions between their callers and callees: a block of rows per function, the largest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/rows/graph.h"
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

// Amounts are in the unit of the answer; texts belong to its source.
struct TreeRow {
  TreeRelation relation = TreeRelation::kSelf;
  std::optional<std::int64_t> flat{};    // of the function itself
  std::optional<std::int64_t> cum{};     // likewise
  std::optional<std::int64_t> weight{};  // of the others: what flows through the call
  std::string_view node;                 // the function that the block is about
  std::string_view name;                 // of the row; a file or module where that is the node
  std::string_view file;
  std::int64_t line = 0;        // 0 = none
  std::int64_t more_lines = 0;  // Place::more
};

// Makes rows from a graph, one by one: an edge is a row of two blocks, too many to hold with names.
class TreeSource {
 public:
  // `shown`: the nodes that get a block, in order.
  TreeSource(Graph graph, NodeSpace names, std::vector<std::uint32_t> shown);
  // Begins a pass over all rows. The source must outlive it.
  [[nodiscard]] RowStream<TreeRow> Rows() const;
  // The first row of each block.
  [[nodiscard]] std::vector<std::size_t> Blocks() const;

 private:
  // Rows of Graph::edges per node, heaviest first, one node after the other.
  struct Neighbours {
    std::vector<std::size_t> begins;
    std::vector<std::uint32_t> edges;
    [[nodiscard]] std::span<const std::uint32_t> Of(std::uint32_t node) const {
      return std::span(edges).subspan(begins[node], begins[node + 1] - begins[node]);
    }
  };
  static Neighbours Join(const Graph& graph, std::uint32_t GraphEdge::*end);
  [[nodiscard]] std::size_t GetRows(std::uint32_t node) const;
  // Row `at` of a node's block.
  [[nodiscard]] TreeRow Make(std::uint32_t node, std::size_t at) const;
  [[nodiscard]] std::string_view ToName(std::uint32_t node) const;

  Graph graph_;
  NodeSpace names_;
  std::vector<std::uint32_t> shown_;
  Neighbours callers_;
  Neighbours callees_;
};

struct TreeAnswer {
  AnswerHead head{.question = "tree"};
  // Per block: callers, the function, callees; heaviest first.
  std::shared_ptr<const TreeSource> source;
  std::vector<std::size_t> blocks;  // where they begin; one per function that is shown
  std::int64_t total = 0;           // of the inputs, before filters
  std::int64_t functions = 0;       // all there are, shown or not
};

// "caller", "self", "callee"
std::string_view TreeRelationName(TreeRelation relation);

inline constexpr auto kTreeFields = Fields<TreeRow>({
    {"flat", "FLAT", Unit::kAmount, &TreeRow::flat, "what the function itself holds", Drop(2)},
    {"flat_share", "FLAT%", Unit::kRatio, kInWords, "FLAT as a share of the total", Drop(4)},
    {"cum", "CUM", Unit::kAmount, &TreeRow::cum,
     "what the function and everything that it calls hold", Drop(3)},
    {"cum_share", "CUM%", Unit::kRatio, kInWords, "CUM as a share of the total", Drop(5)},
    {"weight", "FLOWS", Unit::kAmount, &TreeRow::weight, "what flows through the call"},
    {"relation", "", Unit::kText,
     [](const TreeRow& row) { return Value(TreeRelationName(row.relation)); },
     "what the row is to the function of its block", kPlain, R"("caller"|"self"|"callee")"},
    {"node", "", Unit::kText, [](const TreeRow& row) { return Value(row.node); },
     "the function that the block is about"},
    {"name", "WHERE", Unit::kText, [](const TreeRow& row) { return Value(row.name); },
     "the caller, the function, or the callee"},
    {"file", "PLACE", Unit::kText, [](const TreeRow& row) { return Value(row.file); },
     "the file that the name is in", Drop(1) | kPath},
    {"line", "", Unit::kOrdinal, [](const TreeRow& row) { return LineValue(row.line); },
     "the line in that file that holds most"},
    {"more_lines", "", Unit::kCount, &TreeRow::more_lines,
     "other lines of the row that hold something", kPlain, "natural"},
});

// Its blocks were chosen whole: no limit cuts rows.
AnswerView MakeView(const TreeAnswer& answer);

TreeAnswer Tree(const std::vector<Selection>& inputs, const TreeQuery& query);

}  // namespace memtool
