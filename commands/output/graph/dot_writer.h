// Graph → DOT. The only file that includes Graphviz's cgraph.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/rows/graph.h"

namespace memtool::commands {

struct DotStyle {
  std::string title;
  std::vector<std::string> legend;                  // lines of the box that explains the graph
  std::function<std::string(std::int64_t)> amount;  // how a value is written
  bool difference = false;                          // red grew, green shrank
};

// Errors: kOutput when Graphviz refuses to build the graph.
Result<std::string> WriteDot(const Graph& graph, const NodeSpace& space, const DotStyle& style);

}  // namespace memtool::commands
