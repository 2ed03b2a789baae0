// Stacks of spans: each node is a span inside of another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/base/key_hash.h"

namespace memtool::formats::xplane {

class SpanTree {
 public:
  struct Node {
    std::uint32_t parent = 0;  // an earlier one; node 0 is the empty stack
    std::uint32_t name = 0;
  };

  // The span `name` inside of `parent`: the same node for the same two.
  std::uint32_t Of(std::uint32_t parent, std::uint32_t name) {
    const auto [it, added] = known_.emplace(std::uint64_t{parent} << 32U | name,
                                            static_cast<std::uint32_t>(nodes_.size()));
    if (added) {
      nodes_.push_back({.parent = parent, .name = name});
    }
    return it->second;
  }
  // Likewise, but a node of its own.
  std::uint32_t New(std::uint32_t parent, std::uint32_t name) {
    nodes_.push_back({.parent = parent, .name = name});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

 private:
  std::vector<Node> nodes_{Node{}};
  KeyMap<std::uint64_t, std::uint32_t> known_;
};

}  // namespace memtool::formats::xplane
