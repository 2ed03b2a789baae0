// -callgrind: the graph as KCachegrind reads it.
#include <fmt/format.h>

#include <map>

#include "memtool/profile/base/key_hash.h"
#include "pprof/measure.h"
#include "pprof/report.h"
#include "pprof/text/go_text.h"

namespace memtool::commands::pprof {

namespace {

// Names are written once and then by number.
class Names {
 public:
  std::string operator()(const std::string& name) {
    if (name.empty()) {
      return "";
    }
    const auto [found, added] = numbers_.try_emplace(name, numbers_.size() + 1);
    return added ? fmt::format("({}) {}", found->second, name) : fmt::format("({})", found->second);
  }
  // The name of a text, which is looked at once.
  std::string operator()(const NodeTable& table, StringId id) {
    const auto known = of_text_.find(id);
    if (known != of_text_.end()) {
      return fmt::format("({})", known->second);
    }
    const std::string name = Shown(table.Text(id));
    std::string written = (*this)(name);
    if (!name.empty()) {
      of_text_.emplace(id, numbers_.at(name));
    }
    return written;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
  KeyMap<StringId, std::size_t> of_text_;
};

// Relative to the previous address, when that is shorter.
std::string Address(const NodeInfo* before, std::uint64_t address) {
  std::string absolute = fmt::format("{:#x}", address);
  if (before == nullptr) {
    return absolute;
  }
  if (before->address == address) {
    return "*";
  }
  std::string relative = fmt::format("{:+}", static_cast<std::int64_t>(address - before->address));
  return relative.size() < absolute.size() ? relative : absolute;
}

class CallgrindWriter {
 public:
  explicit CallgrindWriter(PprofReport& report)
      : report_(report), graph_(MakeGraph(report, true)) {}

  std::string Run() {
    NameNodes();
    out_ = fmt::format("positions: instr line\nevents: {}({})\n", Shown(report_.type_name),
                       Shown(report_.output_unit));
    const NodeInfo* before = nullptr;
    for (const std::uint32_t row : graph_.graph().shown) {
      AppendNode(row, before);
      before = &Info(row);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const NodeInfo& Info(std::uint32_t node) const {
    return (*graph_.table)[graph_.graph().info[node]];
  }
  [[nodiscard]] std::string Text(StringId id) const { return Shown(graph_.table->Text(id)); }
  [[nodiscard]] std::int64_t Scaled(std::int64_t value) const {
    return ToInt(ConvertUnit(value, report_.unit, report_.output_unit).value);
  }

  // KCachegrind merges what has the same name: functions that must stay apart get a number.
  void NameNodes() {
    const PprofGraph& graph = graph_.graph();
    std::map<std::pair<StringId, StringId>, std::map<std::uint32_t, std::size_t>> functions;
    const auto of = [&](std::uint32_t row) -> auto& {
      return functions[{Info(row).file, Info(row).name}];
    };
    for (const std::uint32_t row : graph.shown) {
      auto& numbers = of(row);
      numbers.try_emplace(graph.function[row], numbers.size() + 1);
    }
    names_.resize(graph.calls.nodes().size());
    for (const std::uint32_t row : graph.shown) {
      const auto& numbers = of(row);
      names_[row] = Text(Info(row).name);
      if (numbers.size() > 1) {
        names_[row] += fmt::format(" [{}/{}]", numbers.at(graph.function[row]), numbers.size());
      }
    }
  }

  void AppendNode(std::uint32_t row, const NodeInfo* before) {
    const NodeInfo& info = Info(row);
    if (before == nullptr || info.binary != before->binary || info.file != before->file ||
        info.name != before->name) {
      out_ += fmt::format("\nob={}\n", objects_(*graph_.table, info.binary));
      out_ += fmt::format("fl={}\n", files_(*graph_.table, info.file));
      out_ += fmt::format("fn={}\n", functions_(*graph_.table, info.name));
    }
    const CallNode& node = graph_.graph().calls.nodes()[row];
    out_ += fmt::format("{} {} {}\n", Address(before, info.address), info.line,
                        Scaled(Mean(node.flat)));
    for (const std::uint32_t edge_row : SortedEdges(graph_.graph(), *graph_.table, node.out)) {
      const CallEdge& edge = graph_.graph().calls.edges()[edge_row];
      const NodeInfo& callee = Info(edge.to);
      out_ += fmt::format("cfl={}\n", files_(*graph_.table, callee.file));
      out_ += fmt::format("cfn={}\n", functions_(names_[edge.to]));
      out_ += fmt::format("calls=0 {} {}\n* * {}\n", Address(before, callee.address), callee.line,
                          Scaled(edge.weight.value));
    }
  }

  PprofReport& report_;
  GraphReport graph_;
  std::vector<std::string> names_;  // per node
  Names objects_;
  Names files_;
  Names functions_;
  std::string out_;
};

}  // namespace

std::string WriteCallgrind(PprofReport& report) {
  return CallgrindWriter(report).Run();
}

}  // namespace memtool::commands::pprof
