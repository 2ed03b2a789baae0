#include "pprof/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "pprof/flat_map.h"
#include "pprof/go_text.h"
#include "pprof/measure.h"

namespace memtool::commands::pprof {

namespace {

// One sample as graphs count it.
struct Sample {
  std::int64_t value = 0;
  std::int64_t divisor = 0;
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
    return Sample{values[i], input.mean ? profile.values[0][i] : 0, profile.stacks[i],
                  profile.label_sets[i]};
  };
  if (input.with_tags) {
    for (std::size_t i = 0; i < profile.size(); ++i) {
      const Sample one = sample(i);
      if (one.value != 0 || one.divisor != 0) {
        visit(one);
      }
    }
    return;
  }
  std::vector<Weight> sums(input.recording.stack_count());
  std::vector<char> touched(input.recording.stack_count(), 0);
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const Sample one = sample(i);
    if (one.value != 0 || one.divisor != 0) {
      sums[one.stack.value()].Add(one.value, one.divisor);
      touched[one.stack.value()] = 1;
    }
  }
  for (std::uint32_t stack = 0; stack < sums.size(); ++stack) {
    if (touched[stack] != 0) {
      visit(Sample{sums[stack].value, sums[stack].divisor, StackId(stack), {}});
    }
  }
}

// Adds samples to nodes and edges.
class Adder {
 public:
  Adder(const GraphInput& input, Graph& graph) : input_(input), graph_(graph) {}

  std::uint32_t AddNode(std::uint32_t info, std::uint32_t function) {
    graph_.nodes.push_back({.info = info, .function = function});
    if (input_.with_tags) {
      graph_.tags.emplace_back();
    }
    return static_cast<std::uint32_t>(graph_.nodes.size() - 1);
  }

  void AddSample(std::uint32_t row, const Sample& sample, bool flat) {
    GraphNode& node = graph_.nodes[row];
    (flat ? node.flat : node.cum).Add(sample.value, sample.divisor);
    if (!input_.with_tags) {
      return;
    }
    NodeTags& tags = graph_.tags[row];
    const std::string& joined = input_.joined[sample.labels.value()];
    if (!joined.empty()) {
      AddTag(tags.texts, joined, {}, 0, sample, flat);
    }
    for (const NumberLabel& label : input_.labels[sample.labels.value()].numbers) {
      if (input_.recording.Text(label.key) != "bytes") {
        continue;  // the only numbers that pprof draws
      }
      const auto unit = input_.units.find("bytes");
      const std::string name = unit == input_.units.end() ? "bytes" : unit->second;
      for (const std::int64_t value : label.values) {
        AddTag(tags.numbers[joined], ScaledLabel(value, name, input_.settings.unit), name, value,
               sample, flat);
      }
    }
  }

  // At most once per edge and sample (`stamp`).
  void AddEdge(std::uint32_t from, std::uint32_t to, const Sample& sample, std::uint32_t stamp,
               bool residual, bool inlined) {
    bool added = false;
    const std::uint32_t row = edges_.At(std::uint64_t{from} << 32U | to,
                                        static_cast<std::uint32_t>(graph_.edges.size()), &added);
    if (added) {
      graph_.edges.push_back({.from = from, .to = to});
      stamps_.push_back(kNoRow);
      graph_.nodes[from].out.push_back(row);
      graph_.nodes[to].in.push_back(row);
    }
    if (stamps_[row] == stamp) {
      return;
    }
    stamps_[row] = stamp;
    GraphEdge& edge = graph_.edges[row];
    edge.weight.Add(sample.value, sample.divisor);
    edge.residual = edge.residual || residual;
    edge.inlined = edge.inlined && inlined;
  }

  // Which of all nodes are shown: those that hold something.
  void Select() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::int64_t flat = graph_.nodes[i].flat.value;
      const std::int64_t cum = graph_.nodes[i].cum.value;
      const bool negative = flat < 0 || (flat == 0 && cum < 0);
      if ((flat != 0 || cum != 0) && !(input_.settings.drop_negative && negative)) {
        graph_.shown.push_back(i);
      }
    }
  }

 private:
  static void AddTag(std::map<std::string, Tag>& tags, const std::string& name,
                     const std::string& unit, std::int64_t number, const Sample& sample,
                     bool flat) {
    const auto [tag, added] = tags.try_emplace(name);
    if (added) {
      tag->second = {.name = name, .unit = unit, .number = number};
    }
    (flat ? tag->second.flat : tag->second.cum).Add(sample.value, sample.divisor);
  }

  const GraphInput& input_;
  Graph& graph_;
  FlatMap edges_;
  std::vector<std::uint32_t> stamps_;  // per edge: the last sample that went over it
};

// Walks samples from the root inwards, in a graph where nodes are rows of the table.
class GraphWalk {
 public:
  GraphWalk(const GraphInput& input, const std::vector<char>& kept, Adder& adder)
      : input_(input), kept_(kept), adder_(adder), seen_(input.table.size(), kNoRow) {}

  void Add(const Sample& sample) {
    parent_ = kNoRow;
    residual_ = false;
    for (const LocationId place : Backwards<LocationId>(input_.recording.Stack(sample.stack))) {
      AddPlace(input_.table.Of(place), sample);
    }
    if (parent_ != kNoRow && !residual_) {
      adder_.AddSample(parent_, sample, true);
    }
    ++stamp_;
  }

 private:
  void AddPlace(std::span<const std::uint32_t> rows, const Sample& sample) {
    for (std::size_t i = rows.size(); i > 0; --i) {
      const std::uint32_t row = rows[i - 1];
      if (!kept_.empty() && kept_[row] == 0) {
        residual_ = true;
        continue;
      }
      if (seen_[row] != stamp_) {
        seen_[row] = stamp_;
        adder_.AddSample(row, sample, false);
      }
      if (input_.with_edges && parent_ != kNoRow && parent_ != row) {
        adder_.AddEdge(parent_, row, sample, stamp_, residual_, i != rows.size());
      }
      parent_ = row;
      residual_ = false;
    }
  }

  const GraphInput& input_;
  const std::vector<char>& kept_;
  Adder& adder_;
  std::vector<std::uint32_t> seen_;  // per node: the last sample that has it
  std::uint32_t stamp_ = 0;
  std::uint32_t parent_ = kNoRow;
  bool residual_ = false;  // a node was left out since the parent
};

Graph BuildNodeGraph(const GraphInput& input, const std::vector<char>& kept) {
  Graph graph;
  Adder adder(input, graph);
  for (std::uint32_t row = 0; row < input.table.size(); ++row) {
    adder.AddNode(row, input.table.FunctionOf(row));
  }
  GraphWalk walk(input, kept, adder);
  ForEachSample(input, [&walk](const Sample& sample) { walk.Add(sample); });
  adder.Select();
  return graph;
}

// One node per path from the root.
Graph BuildTree(const GraphInput& input) {
  Graph graph;
  Adder adder(input, graph);
  FlatMap children;   // (parent, row of the table) → node
  FlatMap functions;  // (parent, function) → number
  std::uint32_t stamp = 0;
  ForEachSample(input, [&](const Sample& sample) {
    std::uint32_t parent = kNoRow;
    for (const LocationId place : Backwards<LocationId>(input.recording.Stack(sample.stack))) {
      const auto rows = input.table.Of(place);
      for (auto at = rows.rbegin(); at != rows.rend(); ++at) {
        bool added = false;
        const std::uint64_t above = std::uint64_t{parent} << 32U;
        const std::uint32_t row =
            children.At(above | *at, static_cast<std::uint32_t>(graph.nodes.size()), &added);
        if (added) {
          bool fresh = false;
          adder.AddNode(*at, functions.At(above | input.table.FunctionOf(*at), row, &fresh));
        }
        adder.AddSample(row, sample, false);
        if (parent != kNoRow) {
          adder.AddEdge(parent, row, sample, stamp, false, at != rows.rbegin());
        }
        parent = row;
      }
    }
    if (parent != kNoRow) {
      adder.AddSample(parent, sample, true);
    }
    ++stamp;
  });
  adder.Select();
  return graph;
}

}  // namespace

std::size_t NodeTable::Hash::operator()(const NodeInfo& info) const {
  std::uint64_t hash = info.address;
  for (const std::uint64_t part :
       {std::uint64_t{info.name.value()}, std::uint64_t{info.file.value()},
        static_cast<std::uint64_t>(info.start_line), static_cast<std::uint64_t>(info.line),
        std::uint64_t{info.objfile.value()}}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 31U;
  }
  return hash;
}

NodeTable::NodeTable(const Recording& recording, const NodeKey& key) {
  for (const Location& location : recording.locations) {
    AddLocation(recording, location, key);
    begin_.push_back(static_cast<std::uint32_t>(rows_.size()));
  }
  names_.resize(infos_.size());
}

void NodeTable::AddLocation(const Recording& recording, const Location& location,
                            const NodeKey& key) {
  const std::uint64_t address = key.address ? location.address : 0;
  const StringId objfile =
      strings_.Intern(location.mapping.valid()
                          ? recording.Text(recording.mappings[location.mapping.value()].filename)
                          : std::string_view{});
  auto frames = Frames(recording, location);
  if (frames.empty()) {
    rows_.push_back(Intern({.address = address, .objfile = objfile}));
  }
  frames = key.inlined || frames.empty() ? frames : frames.last(1);
  inlined_ = inlined_ || frames.size() > 1;
  for (const Line& frame : frames) {
    const Function& function = recording.functions[frame.function.value()];
    const std::string_view file = recording.Text(function.filename);
    NodeInfo info{.address = address, .line = key.line ? frame.line : 0};
    if (key.function) {
      info.name = strings_.Intern(recording.Text(function.name));
    }
    if (key.file && !file.empty()) {
      info.file = strings_.Intern(CleanPath(key.file_name ? key.file_name(file) : file));
    }
    if (key.binaries || info.name.value() == 0) {
      info.objfile = objfile;
      info.start_line = function.start_line;
    }
    rows_.push_back(Intern(info));
  }
}

std::uint32_t NodeTable::Intern(const NodeInfo& info) {
  const auto [found, added] = index_.try_emplace(info, static_cast<std::uint32_t>(infos_.size()));
  if (added) {
    infos_.push_back(info);
  }
  return found->second;
}

std::uint32_t NodeTable::FunctionOf(std::uint32_t row) {
  NodeInfo info = infos_[row];
  info.address = 0;
  info.line = 0;
  return functions_.try_emplace(info, static_cast<std::uint32_t>(functions_.size())).first->second;
}

const std::string& NodeTable::Name(std::uint32_t row) const {
  std::string& name = names_[row];
  if (name.empty()) {
    const NodeInfo& info = infos_[row];
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
      parts.push_back(info.objfile.value() != 0 ? "[" + BasePath(Text(info.objfile)) + "]"
                                                : "<unknown>");
    }
    name = fmt::format("{}", fmt::join(parts, " "));
  }
  return name;
}

void Weight::Add(std::int64_t more, std::int64_t more_divisor) {
  value = WrapAdd(value, more);
  divisor = WrapAdd(divisor, more_divisor);
}

std::int64_t Weight::Mean() const {
  return divisor == 0 ? value : Quotient(value, divisor);
}

Graph BuildGraph(const GraphInput& input, const std::vector<char>& kept) {
  return input.tree ? BuildTree(input) : BuildNodeGraph(input, kept);
}

}  // namespace memtool::commands::pprof
