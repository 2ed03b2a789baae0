// -top, -tree, -peek, -traces, -tags, -raw, -comments.
#include <fmt/compile.h>
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "pprof/measure.h"
#include "pprof/report.h"
#include "pprof/text/go_text.h"

namespace memtool::commands::pprof {

namespace {

// The text of a report that may be larger than its profile, handed over while it is made.
class Pieces {
 public:
  explicit Pieces(const ByteSink& byte_sink) : sink_(byte_sink) {}

  [[nodiscard]] std::string& text() { return text_; }
  Result<void> HandIfMuch() {
    constexpr std::size_t kMuch = std::size_t{64} << 10U;
    return text_.size() >= kMuch ? Hand() : Result<void>();
  }
  Result<void> Hand() {
    auto taken = sink_(text_);
    text_.clear();
    return taken;
  }

 private:
  const ByteSink& sink_;
  std::string text_;
};

std::string ReportLines(const std::vector<std::string>& labels) {
  return fmt::format("{}\n", fmt::join(labels, "\n"));
}

// " (inline)" when every caller has it inlined, " (partial-inline)" when some have.
std::string_view InlineLabel(const PprofGraph& graph, std::uint32_t node) {
  bool inlined = false;
  bool called = false;
  for (const std::uint32_t row : graph.calls.nodes()[node].in) {
    const CallEdge& edge = graph.calls.edges()[row];
    inlined = inlined || (!edge.removed && edge.inlined);
    called = called || (!edge.removed && !edge.inlined);
  }
  return !inlined ? "" : called ? " (partial-inline)" : " (inline)";
}

// The lines of callers or callees in a tree.
void AppendEdges(const PprofReport& report, const GraphReport& graph, std::uint32_t node,
                 bool callers, std::string& out) {
  const CallNode& self = graph.graph().calls.nodes()[node];
  for (const std::uint32_t row :
       SortedEdges(graph.graph(), *graph.table, callers ? self.in : self.out)) {
    const CallEdge& edge = graph.graph().calls.edges()[row];
    out += fmt::format("{} {} |   {}{}\n", PadLeft(report.Value(edge.weight.value), 50),
                       Percentage(edge.weight.value, Mean(self.cum)),
                       Shown(graph.Name(callers ? edge.from : edge.to)),
                       edge.inlined ? " (inline)" : "");
  }
}

std::string LabelLines(const PprofReport& report, const LabelSet& set) {
  const Recording& profile = report.recording;
  const auto shown = [&profile](StringId text) { return Shown(profile.Text(text)); };
  std::vector<std::string> texts;
  for (const TextLabel& label : set.texts) {
    std::vector<std::string> values;
    for (const StringId value : label.values) {
      values.push_back(shown(value));
    }
    texts.push_back(
        fmt::format("{}:  {}\n", PadLeft(shown(label.key), 10), fmt::join(values, " ")));
  }
  std::sort(texts.begin(), texts.end());
  std::vector<std::string> numbers;
  for (const NumberLabel& label : set.numbers) {
    const auto unit = report.units.find(profile.Text(label.key));
    std::vector<std::string> values;
    for (const std::int64_t value : label.values) {
      values.push_back(ScaledLabel(value, unit == report.units.end() ? "" : unit->second, "auto"));
    }
    numbers.push_back(fmt::format("{}:  {}\n", PadLeft(shown(label.key), 10),
                                  Shown(fmt::format("{}", fmt::join(values, " ")))));
  }
  std::sort(numbers.begin(), numbers.end());
  return fmt::format("{}{}", fmt::join(texts, ""), fmt::join(numbers, ""));
}

struct TagSum {
  std::string value;
  std::int64_t sum = 0;
};

std::vector<TagSum> SortedSums(const std::map<std::string, std::int64_t>& sums) {
  std::vector<TagSum> rows;
  rows.reserve(sums.size());
  for (const auto& [value, sum] : sums) {
    rows.push_back({value, sum});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TagSum& a, const TagSum& b) { return Abs(a.sum) > Abs(b.sum); });
  return rows;
}

// One block of -tags: right-aligned columns, as wide as the widest cell of the block.
std::string TagBlock(const PprofReport& report, const std::string& key,
                     const std::map<std::string, std::int64_t>& sums) {
  std::int64_t total = 0;
  for (const auto& [value, sum] : sums) {
    total = WrapAdd(total, sum);
  }
  const auto amount = [&report](std::int64_t value) {
    const Measured measured = ConvertUnit(value, report.unit, report.output_unit);
    return Shown(fmt::format("{:.1f}{}", measured.value, measured.unit));
  };
  const auto rows = SortedSums(sums);
  std::vector<std::string> cells;
  std::size_t width = 0;
  for (const TagSum& row : rows) {
    cells.push_back(total > 0 ? fmt::format("{} ({}):", amount(row.sum), Percentage(row.sum, total))
                              : amount(row.sum) + ":");
    width = std::max(width, CodePoints(cells.back()) + 1);
  }
  const std::string head = Shown(key) + ":";
  const std::size_t head_width = CodePoints(head) + 1;
  std::string out = fmt::format(" {} Total {}\n", head, amount(total));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += fmt::format("{}{} {}\n", std::string(head_width, ' '), PadLeft(cells[i], width),
                       Shown(rows[i].value));
  }
  return out + "\n";
}

std::string RawLabels(const Recording& profile, const LabelSet& set) {
  constexpr std::string_view kIndent = "                ";
  std::string out;
  const auto add = [&](std::vector<std::string> labels) {
    if (!labels.empty()) {
      std::sort(labels.begin(), labels.end());
      out += fmt::format("{}{}\n", kIndent, fmt::join(labels, " "));
    }
  };
  std::vector<std::string> labels;
  for (const TextLabel& label : set.texts) {
    std::vector<std::string> values;
    for (const StringId value : label.values) {
      values.push_back(Shown(profile.Text(value)));
    }
    labels.push_back(
        fmt::format("{}:[{}]", Shown(profile.Text(label.key)), fmt::join(values, " ")));
  }
  add(std::move(labels));
  labels.clear();
  for (const NumberLabel& label : set.numbers) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < label.values.size(); ++i) {
      values.push_back(label.units.empty() ? fmt::format("{}", label.values[i])
                                           : fmt::format("{} {}", label.values[i],
                                                         Shown(profile.Text(label.units[i]))));
    }
    labels.push_back(
        fmt::format("{}:[{}]", Shown(profile.Text(label.key)), fmt::join(values, " ")));
  }
  add(std::move(labels));
  return out;
}

std::string RawLocation(const Recording& recording, std::size_t row) {
  const Location& location = recording.locations[row];
  std::string out = fmt::format("{:6}: {:#x} ", row + 1, location.address);
  if (location.mapping.valid()) {
    out += fmt::format("M={} ", location.mapping.value() + 1);
  }
  out += location.folded ? "[F] " : "";
  std::string_view indent;
  for (const Line& frame : Frames(recording, location)) {
    const Function& function = recording.functions[frame.function.value()];
    const std::string_view name = recording.Text(function.name);
    const std::string_view system_name = recording.Text(function.system_name);
    out += fmt::format("{}{} {}:{} s={}{}\n", indent, Shown(name),
                       Shown(recording.Text(function.filename)), frame.line, function.start_line,
                       name == system_name ? "" : "(" + Shown(system_name) + ")");
    indent = "             ";
  }
  return out + (indent.empty() ? "\n" : "");
}

std::string RawHeader(const Recording& recording) {
  const Metadata& metadata = recording.metadata;
  std::string out;
  for (const StringId comment : metadata.comments) {
    out += "Comment: " + Shown(recording.Text(comment)) + "\n";
  }
  out += fmt::format("PeriodType: {} {}\nPeriod: {}\n",
                     Shown(recording.Text(metadata.period_type.type)),
                     Shown(recording.Text(metadata.period_type.unit)), metadata.period);
  if (metadata.time_nanos != 0) {
    out += "Time: " + TimeText(metadata.time_nanos) + "\n";
  }
  if (metadata.duration_nanos != 0) {
    out += fmt::format("Duration: {}\n", FirstCodePoints(DurationText(metadata.duration_nanos), 4));
  }
  std::string types;
  for (const SampleType& type : recording.profile->types) {
    const std::string_view name = recording.Text(type.type);
    types += fmt::format("{}{}/{}{}", types.empty() ? "" : " ", Shown(name),
                         Shown(recording.Text(type.unit)),
                         name == recording.Text(recording.profile->default_type) ? "[dflt]" : "");
  }
  return out + "Samples:\n" + types + "\n";
}

Result<void> RawSamples(const Recording& recording, Pieces& pieces) {
  const Profile& profile = *recording.profile;
  std::string& out = pieces.text();
  out = RawHeader(recording);
  std::vector<std::string> labels(recording.label_set_count());  // each made once
  for (std::size_t i = 0; i < profile.size(); ++i) {
    for (const auto& column : profile.values) {
      fmt::format_to(std::back_inserter(out), FMT_COMPILE(" {:10}"), column[i]);
    }
    out += ": ";
    for (const LocationId location : recording.Stack(profile.stacks[i])) {
      const fmt::format_int number(location.value() + 1);
      out.append(number.data(), number.size());
      out += ' ';
    }
    std::string& text = labels[profile.label_sets[i].value()];
    if (text.empty()) {
      text = "\n" + RawLabels(recording, GroupLabels(recording.Labels(profile.label_sets[i])));
    }
    out += text;
    MEMTOOL_TRY(pieces.HandIfMuch());
  }
  return {};
}

}  // namespace

std::string WriteTop(PprofReport& report) {
  const GraphReport graph = MakeGraph(report, false);
  std::string out = ReportLines(ReportLabels(report, graph, false));
  out += "      flat  flat%   sum%        cum   cum%\n";
  std::int64_t sum = 0;
  for (const std::uint32_t row : graph.graph().shown) {
    const std::int64_t flat = Mean(graph.graph().calls.nodes()[row].flat);
    const std::int64_t cum = Mean(graph.graph().calls.nodes()[row].cum);
    sum = WrapAdd(sum, flat);
    out += fmt::format("{} {} {} {} {}  {}{}\n", PadLeft(report.Value(flat), 10),
                       Percentage(flat, report.total), Percentage(sum, report.total),
                       PadLeft(report.Value(cum), 10), Percentage(cum, report.total),
                       Shown(graph.Name(row)), InlineLabel(graph.graph(), row));
  }
  return out;
}

Result<std::string> WriteTree(PprofReport& report) {
  constexpr std::string_view kLine =
      "----------------------------------------------------------+-------------\n";
  const RE2 wanted(report.settings.symbol, RE2::Quiet);
  if (!wanted.ok()) {
    return Fail(ErrorCode::kUsage, fmt::format("parsing argument regexp {}: {}",
                                               report.settings.symbol, wanted.error()));
  }
  const GraphReport graph = MakeGraph(report, true);
  std::string out = ReportLines(ReportLabels(report, graph, false));
  out += kLine;
  out += "      flat  flat%   sum%        cum   cum%   calls calls% + context \t \t \n";
  std::int64_t sum = 0;
  bool matched = false;
  for (const std::uint32_t row : graph.graph().shown) {
    const std::string& name = graph.Name(row);
    if (!report.settings.symbol.empty() && !RE2::PartialMatch(name, wanted)) {
      continue;
    }
    matched = true;
    const std::int64_t flat = Mean(graph.graph().calls.nodes()[row].flat);
    const std::int64_t cum = Mean(graph.graph().calls.nodes()[row].cum);
    sum = WrapAdd(sum, flat);
    out += kLine;
    AppendEdges(report, graph, row, true, out);
    out += fmt::format("{} {} {} {} {}                | {}\n", PadLeft(report.Value(flat), 10),
                       Percentage(flat, report.total), Percentage(sum, report.total),
                       PadLeft(report.Value(cum), 10), Percentage(cum, report.total), Shown(name));
    AppendEdges(report, graph, row, false, out);
  }
  if (!graph.graph().shown.empty()) {
    out += kLine;
  }
  if (!report.settings.symbol.empty() && !matched) {
    return Fail(ErrorCode::kUsage, "no matches found for regexp: " + report.settings.symbol);
  }
  return out;
}

namespace {

// The functions of a stack, a line each; the first has the amount in front.
class StackLines {
 public:
  explicit StackLines(const PprofReport& report)
      : table_(report.recording, GetKey(report.settings)), names_(table_.size()) {}

  void Add(std::span<const LocationId> stack, std::string amount, std::string& to) {
    for (const LocationId place : stack) {
      const auto nodes = table_.Of(place);
      for (const NodeId& node : nodes) {
        std::string& name = names_[node.value()];
        if (name.empty()) {
          name = "   " + Shown(table_.Name(node.value()));
        }
        to += amount;
        to += name;
        to += &node == &nodes.back() ? "\n" : " (inline)\n";
        amount.assign(10, ' ');
      }
    }
  }

 private:
  NodeTable table_;
  std::vector<std::string> names_;  // as they are shown
};

}  // namespace

Result<void> WriteTraces(PprofReport& report, const ByteSink& byte_sink) {
  constexpr std::string_view kLine =
      "-----------+-------------------------------------------------------\n";
  Pieces out(byte_sink);
  out.text() = ReportLines(ProfileLabels(report));
  StackLines lines(report);
  std::vector<std::string> labels(report.recording.label_set_count(), "?");  // "?": not made yet
  const Profile& profile = *report.recording.profile;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const auto stack = report.recording.Stack(profile.stacks[i]);
    if (stack.empty()) {
      continue;
    }
    out.text() += kLine;
    std::string& label_lines = labels[profile.label_sets[i].value()];
    if (label_lines == "?") {
      label_lines = LabelLines(report, GroupLabels(report.recording.Labels(profile.label_sets[i])));
    }
    out.text() += label_lines;
    std::int64_t value = profile.values[report.type][i];
    if (report.settings.mean && profile.values[0][i] != 0) {
      value = Quotient(value, profile.values[0][i]);
    }
    lines.Add(stack, PadLeft(report.Value(value), 10), out.text());
    MEMTOOL_TRY(out.HandIfMuch());
  }
  out.text() += kLine;
  return out.Hand();
}

std::string WriteTags(const PprofReport& report) {
  const Recording& recording = report.recording;
  const Profile& profile = *recording.profile;
  std::vector<std::int64_t> by_set(recording.label_set_count(), 0);
  std::vector<char> used(recording.label_set_count(), 0);
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const std::uint32_t set = profile.label_sets[i].value();
    by_set[set] = WrapAdd(by_set[set], profile.values[report.type][i]);
    used[set] = 1;
  }
  std::map<std::string, std::map<std::string, std::int64_t>> keys;
  const auto add = [&keys](std::string_view key, std::string_view value, std::int64_t sum) {
    std::int64_t& to = keys[std::string(key)][std::string(value)];
    to = WrapAdd(to, sum);
  };
  for (std::size_t i = 0; i < by_set.size(); ++i) {
    if (used[i] == 0) {
      continue;
    }
    for (const Label& label : recording.Labels(LabelSetId(i))) {
      const auto unit = report.units.find(recording.Text(label.key));
      add(recording.Text(label.key),
          label.numeric ? ScaledLabel(label.number, unit == report.units.end() ? "" : unit->second,
                                      report.output_unit)
                        : std::string(recording.Text(label.text)),
          by_set[i]);
    }
  }
  std::string out;
  for (const auto& [key, sums] : keys) {
    out += TagBlock(report, key, sums);
  }
  return out;
}

Result<void> WriteRaw(const PprofReport& report, const ByteSink& byte_sink) {
  const Recording& recording = report.recording;
  Pieces pieces(byte_sink);
  MEMTOOL_TRY(RawSamples(recording, pieces));
  std::string& out = pieces.text();
  out += "Locations\n";
  for (std::size_t i = 0; i < recording.locations.size(); ++i) {
    out += RawLocation(recording, i);
    MEMTOOL_TRY(pieces.HandIfMuch());
  }
  out += "Mappings\n";
  for (std::size_t i = 0; i < recording.mappings.size(); ++i) {
    const Mapping& m = recording.mappings[i];
    out += fmt::format("{}: {:#x}/{:#x}/{:#x} {} {} {}{}{}{}\n", i + 1, m.start, m.limit, m.offset,
                       Shown(recording.Text(m.filename)), Shown(recording.Text(m.build_id)),
                       m.has_functions ? "[FN]" : "", m.has_filenames ? "[FL]" : "",
                       m.has_line_numbers ? "[LN]" : "", m.has_inline_frames ? "[IN]" : "");
  }
  return pieces.Hand();
}

std::string WriteComments(const PprofReport& report) {
  std::string out;
  for (const StringId comment : report.recording.metadata.comments) {
    out += Shown(report.recording.Text(comment)) + "\n";
  }
  return out;
}

}  // namespace memtool::commands::pprof
