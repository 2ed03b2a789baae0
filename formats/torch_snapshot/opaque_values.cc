#include "torch_snapshot/opaque_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace memtool::formats::torch_snapshot {

namespace {
constexpr std::size_t kMaxLeaves = 4096;
constexpr std::size_t kMaxSteps = 16 * kMaxLeaves;  // empty containers count too
constexpr std::size_t kMaxNesting = 32;
constexpr std::size_t kMaxPath = 1024;
constexpr std::size_t kMaxLine = 4096;
// A container that grows piece by piece is copied with every piece, so it may not be long.
constexpr std::uint32_t kMaxCopied = 1024;
}  // namespace

Value OpaqueStore::Add(const Value& base, std::span<const Value> values, bool dict) {
  Node node{.first = cells_.size(), .count = 0, .dict = dict};
  if (base.kind == kind::kOpaqueValue) {
    const Node& before = nodes_[base.Low()];
    if (before.dict != dict) {
      return Value::Of(ValueKind::kOpaque, 0);
    }
    node = before;
    if (before.first + before.count != cells_.size()) {
      if (before.count > kMaxCopied) {
        return Value::Of(ValueKind::kOpaque, 0);
      }
      node.first = cells_.size();
      for (std::size_t i = 0; i < before.count; ++i) {
        const Value cell = cells_[before.first + i];
        cells_.push_back(cell);
      }
    }
  }
  cells_.insert(cells_.end(), values.begin(), values.end());
  node.count += static_cast<std::uint32_t>(values.size());
  nodes_.push_back(node);
  return Value::Of(kind::kOpaqueValue, nodes_.size() - 1);
}

std::string OpaqueStore::Scalar(const Value& value) const {
  switch (value.kind) {
    case ValueKind::kNone:
      return "None";
    case ValueKind::kBool:
      return value.payload != 0 ? "true" : "false";
    case ValueKind::kInt:
      return fmt::format("{}", value.Int());
    case ValueKind::kBigUint:
      return fmt::format("{}", value.payload);
    case ValueKind::kFloat:
      return fmt::format("{}", value.Float());
    case ValueKind::kString:
      return std::string(context_.builder.Text(StringId(value.Low())));
    default:
      return value.kind == kind::kPair ? fmt::format("({}, {})", value.Low(), value.High())
                                       : fmt::format("({})", KindName(value.kind));
  }
}

std::vector<std::pair<std::string, std::string>> OpaqueStore::Leaves(const Value& value) const {
  struct Level {
    std::uint32_t node;
    std::size_t next;
    std::size_t path;  // length of the path down to this container
  };
  std::vector<std::pair<std::string, std::string>> leaves;
  if (value.kind != kind::kOpaqueValue) {
    return leaves;
  }
  std::vector<Level> levels{{value.Low(), 0, 0}};
  std::string path;
  for (std::size_t step = 0; !levels.empty() && step < kMaxSteps && leaves.size() < kMaxLeaves;
       ++step) {
    Level& level = levels.back();
    const Node& node = nodes_[level.node];
    const std::size_t width = node.dict ? 2 : 1;
    if (level.next + width > node.count) {
      levels.pop_back();
      continue;
    }
    const Value* cell = &cells_[node.first + level.next];
    path.resize(level.path);
    path += (path.empty() ? "" : ".") +
            (node.dict ? Scalar(cell[0]) : std::to_string(level.next)).substr(0, kMaxPath);
    level.next += width;
    const Value& leaf = cell[width - 1];
    if (leaf.kind == kind::kOpaqueValue && levels.size() < kMaxNesting && path.size() < kMaxPath) {
      levels.push_back({leaf.Low(), 0, path.size()});
    } else {
      leaves.emplace_back(path, Scalar(leaf));
    }
  }
  return leaves;
}

std::string OpaqueStore::Line(const Value& value) const {
  if (value.kind != kind::kOpaqueValue) {
    return Scalar(value);
  }
  std::string line;
  for (const auto& [path, text] : Leaves(value)) {
    line.append(line.empty() ? "" : ", ").append(path).append("=").append(text);
    if (line.size() > kMaxLine) {
      line.resize(kMaxLine);
      return line + "...";
    }
  }
  return line;
}

}  // namespace memtool::formats::torch_snapshot
