// Dicts and lists that are not part of the model (settings, metadata, keys of later versions). They
// are stored unexpanded and converted to flat lists of "path = text" on demand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "torch_snapshot/context.h"

namespace memtool::formats::torch_snapshot {

class OpaqueStore {
 public:
  explicit OpaqueStore(Context& context) : context_(context) {}

  // Adds to a generic container (or an empty one).
  Value Add(const Value& base, std::span<const Value> values, bool dict);
  [[nodiscard]] bool IsDict(const Value& value) const { return nodes_[value.Low()].dict; }
  [[nodiscard]] std::span<const Value> Items(const Value& value) const {
    const Node& node = nodes_[value.Low()];
    return std::span(cells_).subspan(node.first, node.count);
  }
  // The leaves of a container, in order: {"roundup_power2_divisions.1", "0"}. Cut off at a number
  // of rows that no real file comes near, because shared containers may expand without bound.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> Leaves(const Value& value) const;
  // One line: "step=3, rank=0".
  [[nodiscard]] std::string Line(const Value& value) const;
  [[nodiscard]] std::string Scalar(const Value& value) const;

 private:
  struct Node {
    std::size_t first;
    std::uint32_t count;
    bool dict;
  };

  Context& context_;
  std::vector<Node> nodes_;
  std::vector<Value> cells_;
};

}  // namespace memtool::formats::torch_snapshot
