#include "pprof/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "pprof/go_text.h"
#include "pprof/measure.h"

namespace memtool::commands::pprof {

namespace {

// One sample as graphs count it.
struct Sample {
  Weight weight;
  StackId stack;
  LabelSetId labels;
};

// Calls visit(Sample) for every sample that counts. Without tags, samples of one stack are one: the
// sums are the same, and profiles have many samples per stack.
template <class Visit>
void ForEachSample(const GraphInput& input, Visit visit) {
  const Profile& profile = *input.recording.profile;
  const auto& values = profile.values[input.type];
  const auto sample = [&](std::size_t i) {
    return Sample{{values[i], input.mean ? profile.values[0][i] : 0},
                  profile.stacks[i],
                  profile.label_sets[i]};
  };
  if (input.with_tags) {
    for (std::size_t i = 0; i < profile.size(); ++i) {
      const Sample one = sample(i);
      if (one.weight.value != 0 || one.weight.divisor != 0) {
        visit(one);
      }
    }
    return;
  }
  std::vector<Weight> sums(input.recording.stack_count());
  std::vector<char> touched(input.recording.stack_count(), 0);
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const Sample one = sample(i);
    if (one.weight.value != 0 || one.weight.divisor != 0) {
      Add(sums[one.stack.value()], one.weight);
      touched[one.stack.value()] = 1;
    }
  }
  for (std::uint32_t stack = 0; stack < sums.size(); ++stack) {
    if (touched[stack] != 0) {
      visit(Sample{sums[stack], StackId(stack), {}});
    }
  }
}

class Builder {
 public:
  Builder(const GraphInput& input, const std::vector<char>& kept)
      : input_(input),
        kept_(kept),
        graph_{.calls = CallGraph(GraphRules::kPprof, input.with_edges)} {
    for (std::uint32_t row = 0; !input.tree && row < input.table.size(); ++row) {
      AddNode(row, input.table.FunctionOf(row));
    }
  }

  void Add(const Sample& sample) {
    Expand(input_.recording.Stack(sample.stack));
    if (input_.tree) {
      FollowPath();
    }
    graph_.calls.Resize(graph_.info.size());
    const std::uint32_t leaf = graph_.calls.AddStack(nodes_, inlined_, sample.weight, kept_);
    if (input_.with_tags) {
      for (const std::uint32_t node : graph_.calls.counted()) {
        AddTags(graph_.tags[node], sample, false);
      }
      if (leaf != CallGraph::kNone) {
        AddTags(graph_.tags[leaf], sample, true);
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
    if (input_.with_tags) {
      graph_.tags.emplace_back();
    }
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
      const auto [child, added] = children_.try_emplace(above | row);
      if (added) {
        const auto fresh = static_cast<std::uint32_t>(graph_.info.size());
        const auto function =
            functions_.try_emplace(above | input_.table.FunctionOf(row), fresh).first->second;
        child->second = AddNode(row, function);
      }
      nodes_[i] = NodeId(child->second);
      above = std::uint64_t{child->second} << 32U;
    }
  }

  void AddTags(NodeTags& tags, const Sample& sample, bool flat) const {
    const std::string& joined = input_.joined[sample.labels.value()];
    if (!joined.empty()) {
      AddTag(tags.texts, {.name = joined}, sample, flat);
    }
    for (const Label& label : input_.recording.Labels(sample.labels)) {
      if (!label.numeric || input_.recording.Text(label.key) != "bytes") {
        continue;  // the only numbers that pprof draws
      }
      const auto unit = input_.units.find("bytes");
      const std::string name = unit == input_.units.end() ? "bytes" : unit->second;
      AddTag(tags.numbers[joined],
             {.name = ScaledLabel(label.number, name, input_.settings.unit),
              .unit = name,
              .number = label.number},
             sample, flat);
    }
  }

  static void AddTag(std::map<std::string, Tag>& tags, const Tag& fresh, const Sample& sample,
                     bool flat) {
    Tag& tag = tags.try_emplace(fresh.name, fresh).first->second;
    pprof::Add(flat ? tag.flat : tag.cum, sample.weight);
  }

  const GraphInput& input_;
  const std::vector<char>& kept_;
  PprofGraph graph_;
  std::vector<NodeId> nodes_;  // of the current stack, innermost first
  std::vector<char> inlined_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // (parent, row of the table) → node
  std::unordered_map<std::uint64_t, std::uint32_t> functions_;  // (parent, function) → number
};

}  // namespace

NodeTable::NodeTable(const Recording& recording, const NodeKey& key) {
  for (const Location& location : recording.locations) {
    AddLocation(recording, location, key);
    begin_.push_back(static_cast<std::uint32_t>(rows_.size()));
  }
  names_.resize(space_.size());
}

void NodeTable::AddLocation(const Recording& recording, const Location& location,
                            const NodeKey& key) {
  const StringId none(0U);
  const std::uint64_t address = key.address ? location.address : 0;
  const StringId binary =
      space_.InternText(location.mapping.valid()
                            ? recording.Text(recording.mappings[location.mapping.value()].filename)
                            : std::string_view{});
  auto frames = Frames(recording, location);
  if (frames.empty()) {
    rows_.push_back(
        space_.Intern({.name = none, .file = none, .address = address, .binary = binary}));
  }
  frames = key.inlined || frames.empty() ? frames : frames.last(1);
  inlined_ = inlined_ || frames.size() > 1;
  for (const Line& frame : frames) {
    const Function& function = recording.functions[frame.function.value()];
    const std::string_view file = recording.Text(function.filename);
    Node node{.name = none,
              .file = none,
              .line = key.line ? frame.line : 0,
              .address = address,
              .binary = none};
    if (key.function) {
      node.name = space_.InternText(recording.Text(function.name));
    }
    if (key.file && !file.empty()) {
      node.file = space_.InternText(CleanPath(key.file_name ? key.file_name(file) : file));
    }
    if (key.binaries || node.name.value() == 0) {
      node.binary = binary;
      node.start_line = function.start_line;
    }
    rows_.push_back(space_.Intern(node));
  }
}

std::uint32_t NodeTable::FunctionOf(std::uint32_t row) {
  Node node = space_[NodeId(row)];
  node.address = 0;
  node.line = 0;
  return functions_.Intern(node).value();
}

const std::string& NodeTable::Name(std::uint32_t row) const {
  std::string& name = names_[row];
  if (name.empty()) {
    const Node& info = space_[NodeId(row)];
    std::vector<std::string> parts;
    if (info.address != 0) {
      parts.push_back(fmt::format("{:016x}", info.address));
    }
    if (info.name.value() != 0) {
      parts.emplace_back(Text(info.name));
    }
    if (info.line != 0) {
      parts.push_back(fmt::format("{}:{}", Text(info.file), info.line));
    } else if (info.file.value() != 0) {
      parts.emplace_back(Text(info.file));
    } else if (info.name.value() == 0) {
      parts.push_back(info.binary.value() != 0 ? "[" + BasePath(Text(info.binary)) + "]"
                                               : "<unknown>");
    }
    name = fmt::format("{}", fmt::join(parts, " "));
  }
  return name;
}

std::int64_t Mean(const Weight& weight) {
  return weight.divisor == 0 ? weight.value : Quotient(weight.value, weight.divisor);
}

void Add(Weight& to, const Weight& more) {
  to = {WrapAdd(to.value, more.value), WrapAdd(to.divisor, more.divisor)};
}

PprofGraph BuildPprofGraph(const GraphInput& input, const std::vector<char>& kept) {
  Builder builder(input, kept);
  ForEachSample(input, [&builder](const Sample& sample) { builder.Add(sample); });
  return builder.Finish();
}

}  // namespace memtool::commands::pprof
