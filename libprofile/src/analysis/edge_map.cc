#include "edge_map.h"

#include "memtool/profile/analysis/values.h"

namespace memtool {

std::size_t EdgeMap::Find(std::uint32_t from, std::uint32_t to) const {
  const std::uint64_t key = static_cast<std::uint64_t>(from) << 32U | to;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (key * 0x9e3779b97f4a7c15ULL >> 32U) & mask;
  while (slots_[at].epoch != 0 && (slots_[at].from != from || slots_[at].to != to)) {
    at = (at + 1) & mask;
  }
  return at;
}

void EdgeMap::Grow() {
  std::vector<Edge> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Edge& edge : old) {
    if (edge.epoch != 0) {
      slots_[Find(edge.from, edge.to)] = edge;
    }
  }
}

void EdgeMap::Add(std::uint32_t from, std::uint32_t to, std::int64_t weight, std::uint32_t epoch,
                  bool residual) {
  Edge* edge = &slots_[Find(from, to)];
  if (edge->epoch == 0) {
    if (++used_ * 2 > slots_.size()) {
      Grow();
      edge = &slots_[Find(from, to)];
    }
    edge->from = from;
    edge->to = to;
  }
  edge->residual = edge->residual || residual;
  if (edge->epoch != epoch) {
    edge->epoch = epoch;
    edge->weight = SaturatingAdd(edge->weight, weight);
  }
}

std::vector<EdgeMap::Edge> EdgeMap::Edges() const {
  std::vector<Edge> edges;
  for (const Edge& edge : slots_) {
    if (edge.epoch != 0) {
      edges.push_back(edge);
    }
  }
  return edges;
}

}  // namespace memtool
