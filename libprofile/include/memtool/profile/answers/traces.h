// Every distinct stack with its labels, the largest first. Sums are keyed by numbers; texts are
// made only for rows that are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/base/string_table.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

// What traces have in common; rows refer to it by number.
struct TraceTexts {
  NodeSpace frames;                         // by name, file and line
  std::vector<std::vector<NodeId>> stacks;  // distinct; frames innermost first
  StringTable words;                        // "device=", "cuda:0"
  StringTable labels;                       // distinct; the bytes of StringIds of `words`, in pairs
};

// Amounts are in the unit of the answer. Stacks are distinguished as the view shows them: what a
// filter makes equal is one trace.
struct TraceRow {
  std::int64_t value = 0;
  std::int64_t count = 0;    // allocations; 0 when the input does not count
  std::int64_t unknown = 0;  // allocations of unknown size
  std::uint32_t stack = 0;   // row of TraceTexts::stacks
  StringId labels;
  const TraceTexts* texts = nullptr;  // of the answer

  // "device=cuda:0 kind=buffer"
  [[nodiscard]] std::string Labels() const;
  // Innermost first; empty = no stack.
  [[nodiscard]] std::span<const NodeId> Stack() const { return texts->stacks[stack]; }
  // "root;leaf"
  [[nodiscard]] std::string Folded() const;
};

struct TracesAnswer {
  AnswerHead head{.question = "traces"};
  std::vector<TraceRow> rows;
  std::int64_t total = 0;
  std::shared_ptr<const TraceTexts> texts;
};

inline constexpr auto kTracesFields = Fields<TraceRow>({
    {"value", "AMOUNT", Unit::kAmount, &TraceRow::value, "what was allocated there"},
    {"count", "COUNT", Unit::kCount, &TraceRow::count,
     "in how many allocations; 0 where the input does not count", Drop(1)},
    {"labels", "", Unit::kText, [](const TraceRow& row) { return Value(row.Labels()); },
     "the labels of the trace, as \"key=value key=value\""},
    {"stack", "LABELS AND STACK, INNERMOST FIRST", Unit::kText,
     [](const TraceRow& row) { return Value(row.Folded()); },
     "the frames of the stack; in data \"root;caller;leaf\"", kLines},
    {"unknown", "", Unit::kCount, &TraceRow::unknown,
     "allocations of unknown size; they are in no sum"},
});

AnswerView MakeView(const TracesAnswer& answer);

// Adds up any number of inputs, one after the other.
class TracesMaker {
 public:
  TracesMaker();
  void Add(const Selection& selection);
  TracesAnswer Make() &&;

 private:
  // Stacks by their content, without storing them twice.
  struct StackHash {
    const std::vector<std::vector<NodeId>>* stacks;
    std::size_t operator()(std::uint32_t stack) const;
  };
  struct StackEqual {
    const std::vector<std::vector<NodeId>>* stacks;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return (*stacks)[a] == (*stacks)[b]; }
  };
  std::uint32_t Intern(const std::vector<NodeId>& stack);
  std::vector<std::uint32_t> GetStacks(const Selection& selection);
  std::vector<StringId> MakeLabels(const View& view);
  TraceRow& GetRow(std::uint32_t stack, StringId labels);

  AnswerHead head_{.question = "traces"};
  std::shared_ptr<TraceTexts> texts_ = std::make_shared<TraceTexts>();
  KeySet<std::uint32_t, StackHash, StackEqual> stacks_;
  RowMap row_of_;  // (stack, labels) → row
  std::vector<TraceRow> rows_;
};

TracesAnswer Traces(const Selection& selection);

}  // namespace memtool
