#include "memtool/profile/rows/call_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"

namespace memtool {

namespace {

// Doubles out of range become the lowest int64.
std::int64_t Truncated(double value) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  return value >= -kEnd && value < kEnd ? static_cast<std::int64_t>(value)
                                        : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

std::int64_t CallGraph::Sum(std::int64_t a, std::int64_t b) const {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum) || rules_.wrap) {
    return sum;  // on overflow it has wrapped around
  }
  return SaturatingAdd(a, b);
}

Weight CallGraph::Sum(const Weight& a, const Weight& b) const {
  return {Sum(a.value, b.value), Sum(a.divisor, b.divisor)};
}

void CallGraph::Resize(std::size_t count) {
  if (count > nodes_.size()) {
    nodes_.resize(count);
    seen_.resize(count, 0);
  }
}

std::uint32_t CallGraph::AddStack(std::span<const NodeId> stack, std::span<const char> inlined,
                                  const Weight& weight, const std::vector<char>& kept) {
  ++stack_;
  counted_.resize(std::max(counted_.size(), stack.size()));
  counted_count_ = 0;
  std::uint32_t caller = kNone;
  bool residual = false;
  for (std::size_t i = stack.size(); i-- > 0;) {
    const std::uint32_t node = stack[i].value();
    if (!kept.empty() && kept[node] == 0) {
      residual = true;
      continue;
    }
    if (seen_[node] != stack_) {
      seen_[node] = stack_;
      nodes_[node].cum = Sum(nodes_[node].cum, weight);
      counted_[counted_count_++] = node;
    }
    if (with_edges_ && caller != kNone && caller != node) {
      AddEdge(caller, node, weight, residual, !inlined.empty() && inlined[i] != 0);
    }
    caller = node;
    residual = false;
  }
  if (caller == kNone || residual) {
    return kNone;
  }
  nodes_[caller].flat = Sum(nodes_[caller].flat, weight);
  return caller;
}

std::size_t CallGraph::Find(std::uint32_t from, std::uint32_t to) const {
  const std::uint64_t key = static_cast<std::uint64_t>(from) << 32U | to;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::size_t>(HashNumber(key)) & mask;
  while (slots_[at] != 0 &&
         (edges_[slots_[at] - 1].from != from || edges_[slots_[at] - 1].to != to)) {
    at = (at + 1) & mask;
  }
  return at;
}

void CallGraph::Grow() {
  constexpr std::size_t kFirst = 1024;
  slots_.assign(std::max(kFirst, slots_.size() * 2), 0);
  for (std::uint32_t i = 0; i < edges_.size(); ++i) {
    slots_[Find(edges_[i].from, edges_[i].to)] = i + 1;
  }
}

void CallGraph::AddEdge(std::uint32_t from, std::uint32_t to, const Weight& weight, bool residual,
                        bool inlined) {
  if ((edges_.size() + 1) * 2 > slots_.size()) {
    Grow();
  }
  std::uint32_t& slot = slots_[Find(from, to)];
  if (slot == 0) {
    edges_.push_back({.from = from, .to = to});
    slot = static_cast<std::uint32_t>(edges_.size());
    nodes_[from].out.push_back(slot - 1);
    nodes_[to].in.push_back(slot - 1);
  }
  CallEdge& edge = edges_[slot - 1];
  const bool counted = edge.stack == stack_;
  if (!counted || !rules_.outermost_way) {
    edge.residual = edge.residual || residual;
    edge.inlined = edge.inlined && inlined;
  }
  if (!counted) {
    edge.stack = stack_;
    edge.weight = Sum(edge.weight, weight);
  }
}

// Sorted, so that the rounding of sums does not depend on the order of stacks.
std::vector<std::int64_t> CallGraph::Flows(const std::vector<std::uint32_t>& rows) const {
  std::vector<std::int64_t> flows;
  for (const std::uint32_t row : rows) {
    if (!edges_[row].removed) {
      flows.push_back(edges_[row].weight.value);
    }
  }
  std::sort(flows.begin(), flows.end());
  return flows;
}

double CallGraph::Entropy(const std::vector<std::int64_t>& flows, std::int64_t own) const {
  std::int64_t total = own;
  for (const std::int64_t flow : flows) {
    total = flow > 0 ? Sum(total, flow) : total;
  }
  const bool backwards = rules_.backward_flow;
  double entropy = 0;
  const auto add = [&](double flow) {
    const double share = flow / static_cast<double>(total);
    entropy -= share * std::log2(share);
  };
  if (backwards ? total == 0 : total <= 0) {
    return 0;
  }
  for (const std::int64_t flow : flows) {
    if (flow > 0 || backwards) {
      add(std::fabs(static_cast<double>(flow)));
    }
  }
  if (own > 0) {
    add(static_cast<double>(own));
  }
  return entropy;
}

std::int64_t CallGraph::Score(std::uint32_t node) const {
  const auto& [flat, cum, in_edges, out_edges] = nodes_[node];
  const auto in = Flows(in_edges);
  const auto out = Flows(out_edges);
  const double factor =
      (in.empty() ? 1.0 : Entropy(in, 0)) + (out.empty() ? 1.0 : Entropy(out, flat.value));
  const double score = factor * static_cast<double>(cum.value);
  return Sum(rules_.wrap ? Truncated(score)
                         : static_cast<std::int64_t>(std::clamp(score, -9.2e18, 9.2e18)),
             flat.value);
}

bool CallGraph::HasOtherWay(std::uint32_t edge) const {
  const std::uint32_t source = edges_[edge].from;
  std::vector<char> seen(nodes_.size(), 0);
  std::vector<std::uint32_t> queue{edges_[edge].to};
  seen[queue.front()] = 1;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const std::uint32_t in : nodes_[queue[at]].in) {
      const std::uint32_t from = edges_[in].from;
      if (in == edge || edges_[in].removed || seen[from] != 0) {
        continue;
      }
      if (from == source) {
        return true;
      }
      seen[from] = 1;
      queue.push_back(from);
    }
  }
  return false;
}

void CallGraph::Splice(std::uint32_t node) {
  const std::vector<std::uint32_t>& in = nodes_[node].in;
  const std::vector<std::uint32_t> out = std::exchange(nodes_[node].out, {});
  const auto above = std::find_if(in.begin(), in.end(),
                                  [this](std::uint32_t edge) { return !edges_[edge].removed; });
  if (above != in.end()) {
    edges_[*above].removed = true;
  }
  for (const std::uint32_t below : out) {
    CallEdge& edge = edges_[below];
    if (edge.removed) {
      continue;
    }
    if (above == in.end()) {
      edge.removed = true;
      continue;
    }
    edge.from = edges_[*above].from;
    edge.residual = true;
    edge.inlined = edge.inlined && edges_[*above].inlined;
    nodes_[edge.from].out.push_back(below);
  }
}

}  // namespace memtool
