// The call graph as pprof trims and orders it. libprofile's CallGraph adds it up; libprofile's
// graph.h is not used, because what pprof prints depends on its own order of trimming, on labels
// taking the place of nodes, and on edges that lead to nodes which are not shown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/string_table.h"
#include "memtool/profile/rows/call_graph.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/select/filter.h"
#include "pprof/profile.h"
#include "pprof/settings.h"
#include "pprof/tag_sums.h"

namespace memtool::commands::pprof {

// What the granularity distinguishes.
struct NodeKey {
  bool function = true;
  bool file = true;
  bool line = true;
  bool address = true;
  bool inlined = true;    // false: only the outermost frame of a location
  bool binaries = false;  // functions of different binaries stay apart (callgrind)
  // the part of a file's name that is shown
  std::function<std::string_view(std::string_view)> file_name;
};

// What a node stands for; what the granularity does not distinguish is 0 or the empty text.
struct NodeInfo {
  StringId name{0U};
  StringId file{0U};  // cleaned
  std::int64_t line = 0;
  std::uint64_t address = 0;
  std::int64_t start_line = 0;
  StringId binary{0U};  // the mapping's name
  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
  [[nodiscard]] auto KeyFields() const {
    return std::tuple(name, file, line, address, start_line, binary);
  }
};

// Each once, in the order of first need.
class NodeRows {
 public:
  NodeId Intern(const NodeInfo& info);
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] const NodeInfo& operator[](NodeId id) const { return rows_[id.value()]; }

 private:
  std::vector<NodeInfo> rows_;
  KeyMap<NodeInfo, NodeId> index_;
};

// The nodes that each location stands for.
class NodeTable {
 public:
  NodeTable(const Recording& recording, const NodeKey& key);

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const NodeInfo& operator[](std::uint32_t row) const { return nodes_[NodeId(row)]; }
  // Innermost first.
  [[nodiscard]] std::span<const NodeId> Of(LocationId location) const {
    const std::uint32_t begin = begin_[location.value()];
    return std::span(rows_).subspan(begin, begin_[location.value() + 1] - begin);
  }
  // "ADDRESS NAME FILE:LINE", as far as known, as bytes.
  [[nodiscard]] std::string Name(std::uint32_t row) const;
  // As the names compare, which are not put together for it: many may share one of megabytes.
  [[nodiscard]] int CompareNames(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] std::string_view Text(StringId id) const { return strings_[id]; }
  // True when one location has several frames: only then edges can be inlined calls.
  [[nodiscard]] bool inlined() const { return inlined_; }
  // A number per (name, file, start line, binary), whatever the line and address.
  [[nodiscard]] std::uint32_t GetFunction(std::uint32_t row);

 private:
  class NameParts;
  // `name_of`, `file_of`: of a text of the recording, looked at once.
  template <class NameOf, class FileOf>
  void AddLocation(const Recording& recording, const Location& location, const NodeKey& key,
                   NameOf& name_of, FileOf& file_of);

  StringTable strings_;
  NodeRows nodes_;
  NodeRows functions_;
  std::vector<std::uint32_t> begin_{0};
  std::vector<NodeId> rows_;
  bool inlined_ = false;
};

// The sum, or with a divisor the mean.
std::int64_t Mean(const Weight& weight);
// Sums wrap around.
void Add(Weight& to, const Weight& more);

// As pprof computes, which is as Go does.
inline constexpr GraphRules kGraphRules{.wrap = true, .outermost_way = true, .backward_flow = true};

struct PprofGraph {
  CallGraph calls{kGraphRules};         // all nodes that some sample touches, shown or not
  std::vector<std::uint32_t> info;      // per node: row of the NodeTable
  std::vector<std::uint32_t> function;  // per node: the same for all lines and addresses of one
  NodeTagSums tag_sums;                 // of all nodes; none when not asked for
  std::vector<NodeTags> tags;           // per node, of those that are shown; see Trimmed
  std::vector<std::uint32_t> shown;     // nodes, in order
};

// What a graph is made of.
struct GraphInput {
  const Recording& recording;
  NodeTable& table;
  const Settings& settings;
  std::size_t type = 0;  // of values
  bool mean = false;     // divide by the first type
  bool with_edges = true;
  bool tree = false;               // one node per call path
  const TagTable* tags = nullptr;  // null = the graph has none
};

// `kept`: per row of the table, 0 = leave out; empty = all.
PprofGraph BuildPprofGraph(const GraphInput& input, const std::vector<char>& kept);

struct Trimmed {
  PprofGraph graph;
  std::size_t original = 0;  // nodes before the count was limited
  std::size_t dropped_nodes = 0;
  std::size_t dropped_edges = 0;
};

// Builds, trims and sorts: what every report but raw, tags and traces starts from. `visual`: as for
// dot.
Trimmed BuildTrimmed(const GraphInput& input, bool visual);

// Edges that are still there, heaviest first.
std::vector<std::uint32_t> SortedEdges(const PprofGraph& graph, const NodeTable& table,
                                       std::vector<std::uint32_t> edges);
// Heaviest first, by flat or by cum value.
void SortTags(std::vector<const Tag*>& tags, bool flat);

}  // namespace memtool::commands::pprof
