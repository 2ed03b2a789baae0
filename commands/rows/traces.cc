// memtool traces: every distinct stack with its labels.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "command.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/label_text.h"
#include "output/escape.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

struct Trace {
  std::int64_t value = 0;
  std::int64_t count = 0;
  std::int64_t unknown = 0;
};

class TracesCommand final : public RowsCommand {
 public:
  TracesCommand() : RowsCommand(ByOption{}) {}

  [[nodiscard]] Doc doc() const override {
    return {.summary = "every stack with its labels, largest first",
            .usage = "[options] [FILE...]",
            .examples =
                "memtool traces -n 5 memory9.prof\n"
                "memtool traces --frames all --focus anotherfunc memory9.prof"};
  }

 private:
  Result<Report> MakeReport(Session& session, const std::vector<std::string>& names) override {
    auto done = ForEachInput(session, names, [this](Selection loaded) { Add(InputOf(loaded)); });
    MEMTOOL_TRY(done);
    return Describe(session);
  }

  // Stacks are told apart as they are seen: what a filter makes equal is one trace.
  using Key = std::pair<std::vector<std::uint32_t>, std::string>;

  void Add(const Input& input) {
    const View& view = *input.view;
    const Recording& recording = view.recording();
    NodeWalker walker(view, Granularity::kLine, space_);
    NodeStack stack;
    std::vector<std::vector<std::uint32_t>> nodes_of(recording.stack_count());
    std::vector<char> kept(recording.stack_count(), 0);
    for (const StackSum& sum : input.sums->rows) {
      if (!walker.Expand(sum, stack)) {
        continue;
      }
      kept[sum.stack.value()] = 1;
      auto& nodes = nodes_of[sum.stack.value()];
      nodes.clear();
      for (const NodeId node : stack.nodes) {
        nodes.push_back(node.value());
      }
    }
    std::vector<std::string> labels(recording.label_set_count());
    for (std::uint32_t set = 0; set < labels.size(); ++set) {
      labels[set] = ShownLabels(view, LabelSetId(set));
    }
    ForEachSample(*recording.profile, *input.choice, [&](const SampleValue& sample) {
      if (!view.Keeps(sample.labels) || kept[sample.stack.value()] == 0) {
        return;
      }
      Trace& trace = traces_[{nodes_of[sample.stack.value()], labels[sample.labels.value()]}];
      trace.value = SaturatingAdd(trace.value, sample.value);
      trace.count = SaturatingAdd(trace.count, sample.count);
      trace.unknown = SaturatingAdd(trace.unknown, sample.unknown);
    });
  }

  static std::string ShownLabels(const View& view, LabelSetId set) {
    const Recording& recording = view.recording();
    std::string text;
    for (const Label& label : recording.Labels(set)) {
      if (view.ShowsKey(label.key)) {
        text += (text.empty() ? "" : " ") + LabelText(recording, label);
      }
    }
    return text;
  }

  [[nodiscard]] std::string FrameText(std::uint32_t node) const {
    const NodeId id(node);
    const std::string place = PlaceText(space_.File(id), space_[id].line);
    return EscapeText(NameText(space_.Name(id)) + (place.empty() ? "" : "  " + place));
  }

  Report Describe(const Session& session) const {
    std::vector<std::pair<const Key*, const Trace*>> sorted;
    std::int64_t total = 0;
    for (const auto& [key, trace] : traces_) {
      sorted.emplace_back(&key, &trace);
      total = SaturatingAdd(total, trace.value);
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return Magnitude(a.second->value) > Magnitude(b.second->value);
    });
    Report report{.command = "traces"};
    session.Describe(report);
    report.columns = {
        {"value", "AMOUNT"},
        {"count", "COUNT"},
        {"labels", ""},
        {"stack", ""},
        {.key = "", .title = "LABELS AND STACK, INNERMOST FIRST", .left = true, .lines = true},
        {"unknown", ""}};
    for (const auto& [key, trace] : sorted) {
      std::string folded;
      // Escaped here: line breaks of names are not ours.
      std::string lines = key->second.empty() ? "(no labels)" : EscapeText(key->second);
      for (std::size_t i = key->first.size(); i-- > 0;) {
        folded += std::string(space_.Name(NodeId(key->first[i]))) + (i > 0 ? ";" : "");
      }
      for (const std::uint32_t node : key->first) {
        lines += '\n' + FrameText(node);
      }
      lines += key->first.empty() ? "\n(no stack)" : "";
      report.rows.push_back({MakeAmount(session, trace->value), trace->count, key->second, folded,
                             lines, trace->unknown});
    }
    report.totals = {{"total", total}};
    report.head = Head(session, fmt::format("{} · {} {} in {} traces", InputsText(session),
                                            session.choice().name, AmountText(session, total),
                                            FormatCount(static_cast<std::int64_t>(sorted.size()))));
    return report;
  }

  NodeSpace space_;
  std::map<Key, Trace> traces_;
};

}  // namespace

std::unique_ptr<Command> MakeTraces() {
  return std::make_unique<TracesCommand>();
}

}  // namespace memtool::commands
