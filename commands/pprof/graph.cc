#include "pprof/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/base/row_map.h"
#include "pprof/measure.h"
#include "pprof/text/go_text.h"

namespace memtool::commands::pprof {

namespace {

// Samples in groups: those of one stack lie together, in their order. Stacks follow in the order of
// their first samples.
class SamplesByStack {
 public:
  // Calls visit(i) twice for each sample that counts.
  template <class ForEach>
  SamplesByStack(std::size_t stack_count, std::span<const StackId> stacks, ForEach for_each)
      : end_(stack_count, 0) {
    for_each([&](std::uint32_t i) {
      if (end_[stacks[i].value()]++ == 0) {
        order_.push_back(stacks[i]);
      }
    });
    std::uint32_t at = 0;
    for (const StackId stack : order_) {
      at += std::exchange(end_[stack.value()], at);
    }
    samples_.resize(at);
    for_each([&](std::uint32_t i) { samples_[end_[stacks[i].value()]++] = i; });
  }

  // Calls visit(stack, samples). `columns`: what it looks at of each sample, which lies all over
  // them and is fetched some samples ahead.
  template <class Visit, class... Columns>
  void ForEachStack(Visit visit, const Columns&... columns) const {
    constexpr std::size_t kAhead = 16;
    std::size_t begin = 0;
    for (const StackId stack : order_) {
      const std::size_t end = end_[stack.value()];
      for (std::size_t at = begin + kAhead; at < std::min(end + kAhead, samples_.size()); ++at) {
        (__builtin_prefetch(&columns[samples_[at]]), ...);
      }
      visit(stack, std::span(samples_).subspan(begin, end - begin));
      begin = end;
    }
  }

 private:
  std::vector<std::uint32_t> end_;  // per stack: where its samples end
  std::vector<StackId> order_;
  std::vector<std::uint32_t> samples_;
};

// Samples of one stack are one: the sums are the same, and profiles have many samples per stack.
class Samples {
 public:
  explicit Samples(const GraphInput& input) : input_(input), profile_(*input.recording.profile) {}

  // Calls visit(stack, weight) for every stack with samples that count.
  template <class Visit>
  void ForEachStack(Visit visit) const {
    std::vector<Weight> sums(input_.recording.stack_count());
    std::vector<char> touched(sums.size(), 0);
    ForEach([&](std::size_t i) {
      const std::uint32_t stack = profile_.stacks[i].value();
      Add(sums[stack], GetWeight(i));
      touched[stack] = 1;
    });
    for (std::uint32_t stack = 0; stack < sums.size(); ++stack) {
      if (touched[stack] != 0) {
        visit(StackId(stack), sums[stack]);
      }
    }
  }

  // Calls visit(stack, weight, tags).
  template <class Visit>
  void ForEachStackWithTags(Visit visit) const {
    const SamplesByStack groups(input_.recording.stack_count(), profile_.stacks,
                                [this](auto byte_sink) { this->ForEach(byte_sink); });
    StackTags tags(input_.tags->size());
    const auto visit_stack = [&](StackId stack, std::span<const std::uint32_t> samples) {
      Weight sum;
      for (const std::uint32_t i : samples) {
        Add(sum, GetWeight(i));
        tags.Add(input_.tags->Of(profile_.label_sets[i]), i, GetWeight(i));
      }
      visit(stack, sum, tags.sums());
      tags.Clear();
    };
    groups.ForEachStack(visit_stack, profile_.values[input_.type], profile_.label_sets);
  }

 private:
  [[nodiscard]] Weight GetWeight(std::size_t i) const {
    return {profile_.values[input_.type][i], input_.mean ? profile_.values[0][i] : 0};
  }
  template <class Visit>
  void ForEach(Visit visit) const {
    for (std::uint32_t i = 0; i < profile_.size(); ++i) {
      const Weight weight = GetWeight(i);
      if (weight.value != 0 || weight.divisor != 0) {
        visit(i);
      }
    }
  }

  const GraphInput& input_;
  const Profile& profile_;
};

class Builder {
 public:
  Builder(const GraphInput& input, const std::vector<char>& kept)
      : input_(input), kept_(kept), graph_{.calls = CallGraph(kGraphRules, input.with_edges)} {
    for (std::uint32_t row = 0; !input.tree && row < input.table.size(); ++row) {
      AddNode(row, input.table.GetFunction(row));
    }
  }

  void Add(StackId stack, const Weight& weight, std::span<const StackTags::Sum> tags) {
    Expand(input_.recording.Stack(stack));
    if (input_.tree) {
      FollowPath();
    }
    graph_.calls.Resize(graph_.info.size());
    const std::uint32_t leaf = graph_.calls.AddStack(nodes_, inlined_, weight, kept_);
    for (const std::uint32_t node : graph_.calls.counted()) {
      for (const StackTags::Sum& tag : tags) {
        graph_.tag_sums.Add(node, tag, false);
      }
    }
    for (const StackTags::Sum& tag : tags) {
      if (leaf != CallGraph::kNone) {
        graph_.tag_sums.Add(leaf, tag, true);
      }
    }
  }

  // Shows the nodes that hold something.
  PprofGraph Finish() {
    graph_.calls.Resize(graph_.info.size());
    for (std::uint32_t i = 0; i < graph_.info.size(); ++i) {
      const std::int64_t flat = graph_.calls.nodes()[i].flat.value;
      const std::int64_t cum = graph_.calls.nodes()[i].cum.value;
      const bool negative = flat < 0 || (flat == 0 && cum < 0);
      if ((flat != 0 || cum != 0) && !(input_.settings.drop_negative && negative)) {
        graph_.shown.push_back(i);
      }
    }
    return std::move(graph_);
  }

 private:
  std::uint32_t AddNode(std::uint32_t info, std::uint32_t function) {
    graph_.info.push_back(info);
    graph_.function.push_back(function);
    return static_cast<std::uint32_t>(graph_.info.size() - 1);
  }

  void Expand(std::span<const LocationId> stack) {
    nodes_.clear();
    inlined_.clear();
    for (const LocationId location : stack) {
      const auto rows = input_.table.Of(location);
      nodes_.insert(nodes_.end(), rows.begin(), rows.end());
      inlined_.insert(inlined_.end(), rows.size() - 1, 1);
      inlined_.push_back(0);
    }
  }

  // One node per path from the root, instead of rows of the table.
  void FollowPath() {
    std::uint64_t above = std::uint64_t{kNoRow} << 32U;
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      const std::uint32_t row = nodes_[i].value();
      const auto fresh = static_cast<std::uint32_t>(graph_.info.size());
      const std::uint32_t child = children_.GetOrPut(above | row, fresh);
      if (child == fresh) {
        AddNode(row, functions_.GetOrPut(above | input_.table.GetFunction(row), fresh));
      }
      nodes_[i] = NodeId(child);
      above = std::uint64_t{child} << 32U;
    }
  }

  const GraphInput& input_;
  const std::vector<char>& kept_;
  PprofGraph graph_;
  std::vector<NodeId> nodes_;  // of the current stack, innermost first
  std::vector<char> inlined_;
  RowMap children_;   // (parent, row of the table) → node
  RowMap functions_;  // (parent, function) → number
};

}  // namespace

NodeId NodeRows::Intern(const NodeInfo& info) {
  const auto [it, added] = index_.emplace(info, NodeId(rows_.size()));
  if (added) {
    rows_.push_back(info);
  }
  return it->second;
}

template <class NameOf, class FileOf>
void NodeTable::AddLocation(const Recording& recording, const Location& location,
                            const NodeKey& key, NameOf& name_of, FileOf& file_of) {
  const std::uint64_t address = key.address ? location.address : 0;
  const StringId binary =
      strings_.Intern(location.mapping.valid()
                          ? recording.Text(recording.mappings[location.mapping.value()].filename)
                          : std::string_view{});
  auto frames = Frames(recording, location);
  if (frames.empty()) {
    rows_.push_back(nodes_.Intern({.address = address, .binary = binary}));
  }
  frames = key.inlined || frames.empty() ? frames : frames.last(1);
  inlined_ = inlined_ || frames.size() > 1;
  for (const Line& frame : frames) {
    const Function& function = recording.functions[frame.function.value()];
    NodeInfo node{.line = key.line ? frame.line : 0, .address = address};
    if (key.function) {
      node.name = name_of(function.name);
    }
    if (key.file) {
      node.file = file_of(function.filename);
    }
    if (key.binaries || node.name.value() == 0) {
      node.binary = binary;
      node.start_line = function.start_line;
    }
    rows_.push_back(nodes_.Intern(node));
  }
}

NodeTable::NodeTable(const Recording& recording, const NodeKey& key) {
  OncePerText name_of([&](StringId name) { return strings_.Intern(recording.Text(name)); });
  OncePerText file_of([&](StringId id) {
    const std::string_view file = recording.Text(id);
    return file.empty() ? StringId(0U)
                        : strings_.Intern(CleanPath(key.file_name ? key.file_name(file) : file));
  });
  for (const Location& location : recording.locations) {
    AddLocation(recording, location, key, name_of, file_of);
    begin_.push_back(static_cast<std::uint32_t>(rows_.size()));
  }
}

std::uint32_t NodeTable::GetFunction(std::uint32_t row) {
  NodeInfo node = nodes_[NodeId(row)];
  node.address = 0;
  node.line = 0;
  return functions_.Intern(node).value();
}

// A name in pieces, some of which it holds itself.
class NodeTable::NameParts {
 public:
  NameParts(const NodeTable& table, const NodeInfo& info) {
    if (info.address != 0) {
      address_ = fmt::format("{:016x}", info.address);
      Add(address_);
    }
    if (info.name.value() != 0) {
      Add(table.Text(info.name));
    }
    if (info.line != 0) {
      line_ = fmt::format(":{}", info.line);
      Add(table.Text(info.file));
      parts_.emplace_back(line_);
    } else if (info.file.value() != 0) {
      Add(table.Text(info.file));
    } else if (info.name.value() == 0) {
      binary_ =
          info.binary.value() != 0 ? "[" + BasePath(table.Text(info.binary)) + "]" : "<unknown>";
      Add(binary_);
    }
  }
  NameParts(const NameParts&) = delete;
  NameParts& operator=(const NameParts&) = delete;

  [[nodiscard]] const std::vector<std::string_view>& all() const { return parts_; }

 private:
  void Add(std::string_view part) {
    if (!parts_.empty()) {
      parts_.emplace_back(" ");
    }
    parts_.push_back(part);
  }

  std::string address_;
  std::string line_;
  std::string binary_;
  std::vector<std::string_view> parts_;
};

std::string NodeTable::Name(std::uint32_t row) const {
  return fmt::format("{}", fmt::join(NameParts(*this, nodes_[NodeId(row)]).all(), ""));
}

int NodeTable::CompareNames(std::uint32_t a, std::uint32_t b) const {
  const NameParts name_a(*this, nodes_[NodeId(a)]);
  const NameParts name_b(*this, nodes_[NodeId(b)]);
  auto next_a = name_a.all().begin();
  auto next_b = name_b.all().begin();
  std::string_view left;
  std::string_view right;
  while (true) {
    while (left.empty() && next_a != name_a.all().end()) {
      left = *next_a++;
    }
    while (right.empty() && next_b != name_b.all().end()) {
      right = *next_b++;
    }
    const std::size_t size = std::min(left.size(), right.size());
    if (size == 0) {
      return left.compare(right);  // one of them has ended
    }
    const bool same = left.data() == right.data();  // one text of the table
    if (const int order = same ? 0 : left.substr(0, size).compare(right.substr(0, size));
        order != 0) {
      return order;
    }
    left.remove_prefix(size);
    right.remove_prefix(size);
  }
}

std::int64_t Mean(const Weight& weight) {
  return weight.divisor == 0 ? weight.value : Quotient(weight.value, weight.divisor);
}

void Add(Weight& to, const Weight& more) {
  to = {WrapAdd(to.value, more.value), WrapAdd(to.divisor, more.divisor)};
}

PprofGraph BuildPprofGraph(const GraphInput& input, const std::vector<char>& kept) {
  Builder builder(input, kept);
  const Samples samples(input);
  if (input.tags != nullptr) {
    samples.ForEachStackWithTags([&builder](StackId stack, const Weight& weight, const auto& tags) {
      builder.Add(stack, weight, tags);
    });
  } else {
    samples.ForEachStack(
        [&builder](StackId stack, const Weight& weight) { builder.Add(stack, weight, {}); });
  }
  return builder.Finish();
}

}  // namespace memtool::commands::pprof
