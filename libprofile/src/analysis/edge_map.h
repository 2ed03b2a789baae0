// Hash map from (node, node) to a weight that counts each pair once per stack.
#pragma once

#include <cstdint>
#include <vector>

namespace memtool {

class EdgeMap {
 public:
  struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::int64_t weight = 0;
    std::uint32_t epoch = 0;  // the last stack that was counted; 0 = free slot
    bool residual = false;
  };

  EdgeMap() : slots_(kFirst) {}

  // Adds `weight` unless this epoch has been counted for the pair already.
  void Add(std::uint32_t from, std::uint32_t to, std::int64_t weight, std::uint32_t epoch,
           bool residual);
  // All edges, in no particular order.
  [[nodiscard]] std::vector<Edge> Edges() const;

 private:
  static constexpr std::size_t kFirst = 1024;
  [[nodiscard]] std::size_t Find(std::uint32_t from, std::uint32_t to) const;
  void Grow();

  std::vector<Edge> slots_;
  std::size_t used_ = 0;
};

}  // namespace memtool
