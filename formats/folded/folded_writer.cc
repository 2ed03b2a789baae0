#include "folded/folded_writer.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/escape.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/select/selection.h"

namespace memtool::formats {

std::string EscapeFolded(std::string_view bytes) {
  std::string out = EscapeText(bytes);
  for (char& c : out) {
    c = c == ';' ? ':' : c;
  }
  return out;
}

std::span<const std::string_view> FoldedWriter::endings() const {
  static constexpr std::array<std::string_view, 2> kEndings{".folded", ".txt"};
  return kEndings;
}

Result<void> FoldedWriter::Write(const Recording& recording, const WriteOptions& options,
                                 const ByteSink& sink) const {
  // Samples may be those of a moment, which the recording's history does not tell.
  const auto choice = ChooseValue(recording, options.sample_type);
  MEMTOOL_TRY(choice);
  const Filter everything;
  const View view(recording, options.filter ? *options.filter : everything);
  const StackSums sums = SumByStack(view, *choice, 1.0);
  NodeSpace space;
  NodeWalker walker(view, Granularity::kFileFunction, space);
  NodeStack stack;
  // By the names' ids first: many stacks may have one line, and a line is made once.
  std::map<std::vector<StringId>, std::int64_t> named;
  bool saturated = sums.saturated;
  for (const StackSum& sum : sums.rows) {
    if (sum.value == 0 || !walker.Expand(sum, stack)) {
      continue;
    }
    std::vector<StringId> names;
    for (const NodeId node : stack.nodes) {
      names.push_back(space[node].name);
    }
    AddTo(named[std::move(names)], sum.value, saturated);
  }
  std::map<std::string, std::int64_t> lines;
  for (const auto& [names, sum] : named) {
    std::string line;
    for (std::size_t i = names.size(); i-- > 0;) {
      line += EscapeFolded(space.Text(names[i]));
      line += i > 0 ? ";" : "";
    }
    AddTo(lines[names.empty() ? std::string(kNoStack) : std::move(line)], sum, saturated);
  }
  if (saturated) {
    return Fail(ErrorCode::kLimit, "sums of sizes exceed the 64-bit range");
  }
  for (const auto& [line, value] : lines) {
    MEMTOOL_TRY(sink(fmt::format("{} {}\n", line, value)));
  }
  return {};
}

}  // namespace memtool::formats
