#include "pprof/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "memtool/profile/base/numbers.h"
#include "pprof/measure.h"
#include "pprof/text/go_text.h"

namespace memtool::commands::pprof {

namespace {

constexpr std::string_view kBaseLabel = "pprof::base";

// By number, by name, by name without "inuse_"; with no choice the profile's default or the last.
Result<std::size_t> ChooseType(const Recording& recording, const std::string& wanted) {
  const Profile& profile = *recording.profile;
  const auto find = [&](std::string_view name, std::string_view other) {
    return static_cast<std::size_t>(std::find_if(profile.types.begin(), profile.types.end(),
                                                 [&](const SampleType& t) {
                                                   return recording.Text(t.type) == name ||
                                                          recording.Text(t.type) == other;
                                                 }) -
                                    profile.types.begin());
  };
  if (wanted.empty()) {
    const std::string_view own = recording.Text(profile.default_type);
    const std::size_t found = find(own, own);
    return !own.empty() && found < profile.types.size() ? found : profile.types.size() - 1;
  }
  if (const auto number =
          ParseNumber<std::int64_t>(wanted.substr(wanted.starts_with('+') ? 1 : 0))) {
    if (*number < 0 || static_cast<std::size_t>(*number) >= profile.types.size()) {
      return Fail(ErrorCode::kUsage, fmt::format("sample_index {} is outside the range [0..{}]",
                                                 wanted, profile.types.size() - 1));
    }
    return static_cast<std::size_t>(*number);
  }
  const std::string_view name = wanted;
  const std::size_t found = find(name, name.substr(name.starts_with("inuse_") ? 6 : 0));
  if (found < profile.types.size()) {
    return found;
  }
  std::string types;
  for (const SampleType& type : profile.types) {
    types += types.empty() ? "" : " ";
    types += recording.Text(type.type);
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("sample_index \"{}\" must be one of: [{}]", wanted, types));
}

// Σ|value| of all samples; with a diff base, of the base's.
std::int64_t Total(const Recording& recording, std::size_t type, bool mean) {
  std::vector<char> of_base;
  for (std::uint32_t i = 0; i < recording.label_set_count(); ++i) {
    const auto labels = recording.Labels(LabelSetId(i));
    const bool base = std::any_of(labels.begin(), labels.end(), [&](const Label& label) {
      return !label.numeric && recording.Text(label.key) == kBaseLabel &&
             recording.Text(label.text) == "true";
    });
    of_base.push_back(base ? 1 : 0);
  }
  const Profile& profile = *recording.profile;
  Weight all;
  Weight base;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const std::int64_t value = Abs(profile.values[type][i]);
    const std::int64_t divisor = mean ? profile.values[0][i] : 0;
    Add(all, {value, divisor});
    if (of_base[profile.label_sets[i].value()] != 0) {
      Add(base, {value, divisor});
    }
  }
  return base.value > 0 ? Mean(base) : Mean(all);
}

std::vector<std::string> ActiveFilters(const Settings& settings) {
  std::vector<std::string> lines;
  const auto add = [&lines](std::string_view name, const std::string& value) {
    if (value.empty()) {
      return;
    }
    constexpr std::size_t kMaxLength = 80;
    const std::string text = fmt::format("{}={}", name, value);
    lines.push_back(
        "   " + (text.size() > kMaxLength ? Shown(text.substr(0, kMaxLength)) + "…" : Shown(text)));
  };
  add("focus", settings.focus);
  add("ignore", settings.ignore);
  add("hide", settings.hide);
  add("show", settings.show);
  add("show_from", settings.show_from);
  add("tagfocus", settings.tagfocus);
  add("tagignore", settings.tagignore);
  add("tagshow", settings.tagshow);
  add("taghide", settings.taghide);
  if (!lines.empty()) {
    lines.insert(lines.begin(), "Active filters:");
  }
  return lines;
}

// Cuts file names by -trim_path and -source_path.
std::string_view TrimPath(std::string_view path, const Settings& settings) {
  const auto split = [](std::string_view text) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
      const std::size_t colon = std::min(text.find(':'), text.size());
      parts.push_back(text.substr(0, colon));
      text.remove_prefix(std::min(colon + 1, text.size()));
    }
    return parts;
  };
  if (settings.trim_path.empty()) {
    for (const std::string_view folder : split(settings.source_path)) {
      const std::string wanted = "/" + BasePath(folder) + "/";
      if (const std::size_t found = path.find(wanted); found != std::string_view::npos) {
        return path.substr(found + wanted.size());
      }
    }
  }
  auto prefixes = split(settings.trim_path);
  prefixes.insert(prefixes.end(), {"/proc/self/cwd/./", "/proc/self/cwd/"});
  for (const std::string_view prefix : prefixes) {
    const std::string wanted = std::string(prefix) + (prefix.ends_with('/') ? "" : "/");
    if (path.starts_with(wanted)) {
      return path.substr(wanted.size());
    }
  }
  return path;
}

// "key:value\nkey:value", sorted, with pprof's literal "\n" between.
std::vector<std::string> JoinLabels(const Recording& recording) {
  std::vector<std::string> joined;
  for (std::uint32_t i = 0; i < recording.label_set_count(); ++i) {
    std::vector<std::string> labels;
    for (const Label& label : recording.Labels(LabelSetId(i))) {
      if (!label.numeric && recording.Text(label.key) != kBaseLabel) {
        labels.push_back(
            fmt::format("{}:{}", recording.Text(label.key), recording.Text(label.text)));
      }
    }
    std::sort(labels.begin(), labels.end());
    joined.push_back(fmt::format("{}", fmt::join(labels, "\\n")));
  }
  return joined;
}

// With "minimum": one unit for the whole report, in which the smallest value can be distinguished
// from 0.
void SelectUnit(PprofReport& report, const PprofGraph& graph) {
  if (report.output_unit != "minimum" || graph.shown.empty()) {
    return;
  }
  std::int64_t smallest = 0;
  for (const std::uint32_t row : graph.shown) {
    std::int64_t value = Abs(Mean(graph.calls.nodes()[row].flat));
    value = value == 0 ? Abs(Mean(graph.calls.nodes()[row].cum)) : value;
    smallest = value > 0 && (smallest == 0 || value < smallest) ? value : smallest;
  }
  std::int64_t largest = report.total;
  smallest = smallest == 0 ? largest : smallest;
  if (report.ratio > 0 && report.ratio != 1) {
    smallest = ToInt(static_cast<double>(smallest) * report.ratio);
    largest = ToInt(static_cast<double>(largest) * report.ratio);
  }
  const auto times_100 = [](std::int64_t value) {
    return static_cast<std::int64_t>(100 * static_cast<std::uint64_t>(value));
  };
  const auto unit_of = [&report](std::int64_t value) {
    return ConvertUnit(value, report.unit, "minimum").unit;
  };
  std::string unit = unit_of(smallest);
  if (unit != unit_of(largest) && times_100(smallest) < largest &&
      report.settings.report != "callgrind") {
    unit = unit_of(times_100(smallest));
  }
  report.output_unit = unit.empty() ? report.unit : unit;
}

std::string Dropped(std::size_t count, std::string_view what, std::string_view measure,
                    const std::string& limit) {
  return fmt::format("Dropped {} {}{} ({} <= {})", count, what, count > 1 ? "s" : "", measure,
                     limit);
}

}  // namespace

std::string PprofReport::Value(std::int64_t value) const {
  if (ratio > 0 && ratio != 1) {
    value = ToInt(static_cast<double>(value) * ratio);
  }
  return Shown(ScaledLabel(value, unit, output_unit));
}

std::string PprofReport::Fraction(double fraction) const {
  return Value(Abs(ToInt(static_cast<double>(total) * fraction)));
}

NodeKey GetKey(const Settings& settings) {
  const std::string& by = settings.granularity;
  NodeKey key;
  key.address = by == "addresses";
  key.inlined = !settings.noinlines;
  key.line = key.address || by == "lines";
  key.file = key.line || by == "files" || by == "filefunctions";
  key.function = by != "files";
  return key;
}

Result<PprofReport> MakePprofReport(Recording recording, Settings settings, const WarnUser& warn) {
  PprofReport report{.settings = std::move(settings)};
  const Settings& wanted = report.settings;
  ApplyReportDefaults(report.settings);
  const auto filter = [&](Recording unfiltered) {
    return ApplyFilters(std::move(unfiltered), wanted, report.units, warn);
  };
  auto edited = DropEmptyLabels(std::move(recording)).and_then([&](Recording whole) {
    report.units = FindLabelUnits(whole, warn);
    return AddLabelFrames(std::move(whole), wanted, warn);
  });
  if (edited && wanted.relative_percentages) {
    edited = filter(*std::move(edited));
  }
  MEMTOOL_TRY(edited);
  if (edited->profile->types.empty()) {
    return Fail(ErrorCode::kUnsupported, "profile has no samples");
  }
  auto type = ChooseType(*edited, wanted.sample_index);
  MEMTOOL_TRY(type);
  report.type = *type;
  const SampleType& chosen = edited->profile->types[report.type];
  report.type_name = (wanted.mean ? "mean_" : "") + std::string(edited->Text(chosen.type));
  report.unit = edited->Text(chosen.unit);
  report.output_unit = wanted.unit;
  report.ratio = 1 / wanted.divide_by;
  if (!edited->mappings.empty() && !edited->Text(edited->mappings[0].filename).empty()) {
    report.title = BasePath(edited->Text(edited->mappings[0].filename));
  }
  report.total = Total(*edited, report.type, wanted.mean);
  if (!wanted.relative_percentages) {
    edited = filter(*std::move(edited));
  }
  MEMTOOL_TRY(edited);
  report.recording = *std::move(edited);
  return report;
}

GraphReport MakeGraph(PprofReport& report, bool with_edges) {
  const std::string& name = report.settings.report;
  const bool callgrind = name == "callgrind";
  const bool visual = !callgrind && with_edges && name != "tree" && name != "peek";
  NodeKey key = GetKey(report.settings);
  key.binaries = callgrind;
  key.file_name = [&report](std::string_view path) { return TrimPath(path, report.settings); };
  GraphReport graph;
  graph.table = std::make_unique<NodeTable>(report.recording, key);
  std::optional<TagTable> tags;
  if (visual) {
    tags.emplace(report.recording, JoinLabels(report.recording), report.units,
                 report.settings.unit);
  }
  const GraphInput input{.recording = report.recording,
                         .table = *graph.table,
                         .settings = report.settings,
                         .type = report.type,
                         .mean = report.settings.mean,
                         .with_edges = with_edges || graph.table->inlined(),
                         .tree = report.settings.call_tree && (visual || callgrind),
                         .tags = tags ? &*tags : nullptr};
  graph.trimmed = BuildTrimmed(input, visual);
  SelectUnit(report, graph.trimmed.graph);
  return graph;
}

namespace {

// The reports that are small enough to be made as a whole.
Result<std::string> WholeReport(PprofReport& report) {
  const std::string& name = report.settings.report;
  if (name == "top" || name == "text") {
    return WriteTop(report);
  }
  if (name == "tree" || name == "peek") {
    return WriteTree(report);
  }
  if (name == "tags") {
    return WriteTags(report);
  }
  if (name == "comments") {
    return WriteComments(report);
  }
  if (name == "callgrind") {
    return WriteCallgrind(report);
  }
  return name == "topproto" ? WriteTopProto(report) : WriteGraph(report);
}

}  // namespace

bool IsLong(std::string_view name) {
  return name == "traces" || name == "raw" || name == "proto";
}

Result<void> WriteReport(PprofReport& report, const ByteSink& byte_sink) {
  const std::string& name = report.settings.report;
  if (name == "traces") {
    return WriteTraces(report, byte_sink);
  }
  if (name == "raw") {
    return WriteRaw(report, byte_sink);
  }
  if (name == "proto") {
    return WriteProto(report, byte_sink);
  }
  const auto text = WholeReport(report);
  MEMTOOL_TRY(text);
  return byte_sink(*text);
}

std::vector<std::string> ProfileLabels(const PprofReport& report) {
  std::vector<std::string> labels;
  const Recording& recording = report.recording;
  const Metadata& metadata = recording.metadata;
  if (!recording.mappings.empty()) {
    const Mapping& program = recording.mappings[0];
    if (const std::string_view file = recording.Text(program.filename); !file.empty()) {
      labels.push_back("File: " + Shown(BasePath(file)));
    }
    if (const std::string_view id = recording.Text(program.build_id); !id.empty()) {
      labels.push_back("Build ID: " + Shown(id));
    }
  }
  for (const StringId comment : metadata.comments) {
    if (!recording.Text(comment).starts_with('#')) {
      labels.push_back(Shown(recording.Text(comment)));
    }
  }
  if (!report.type_name.empty()) {
    labels.push_back("Type: " + Shown(report.type_name));
  }
  if (metadata.time_nanos != 0) {
    labels.push_back("Time: " + TimeLabel(metadata.time_nanos));
  }
  if (metadata.duration_nanos != 0) {
    const Measured nanos = ConvertUnit(report.total, report.unit, "nanoseconds");
    std::string share;
    if (nanos.unit == "ns" && nanos.value != 0) {
      share = "(" + Percentage(ToInt(nanos.value), metadata.duration_nanos) + ")";
    }
    labels.push_back(fmt::format("Duration: {}, Total samples = {} {}",
                                 ScaledLabel(metadata.duration_nanos, "nanoseconds", "auto"),
                                 report.Value(report.total), share));
  }
  return labels;
}

std::vector<std::string> ReportLabels(const PprofReport& report, const GraphReport& graph,
                                      bool full) {
  std::vector<std::string> labels;
  if (full || !report.settings.compact_labels) {
    labels = ProfileLabels(report);
  }
  const auto filters = ActiveFilters(report.settings);
  labels.insert(labels.end(), filters.begin(), filters.end());
  std::int64_t sum = 0;
  for (const std::uint32_t row : graph.graph().shown) {
    sum = WrapAdd(sum, Mean(graph.graph().calls.nodes()[row].flat));
  }
  labels.push_back(fmt::format("Showing nodes accounting for {}, {} of {} total", report.Value(sum),
                               TrimmedPercentage(sum, report.total), report.Value(report.total)));
  if (report.total != 0) {
    const Trimmed& trimmed = graph.trimmed;
    if (trimmed.dropped_nodes > 0) {
      labels.push_back(Dropped(trimmed.dropped_nodes, "node", "cum",
                               report.Fraction(report.settings.nodefraction)));
    }
    if (trimmed.dropped_edges > 0 && full) {
      labels.push_back(Dropped(trimmed.dropped_edges, "edge", "freq",
                               report.Fraction(report.settings.edgefraction)));
    }
    const std::size_t shown = graph.graph().shown.size();
    if (shown > 0 && shown < trimmed.original) {
      labels.push_back(fmt::format("Showing top {} nodes out of {}", shown, trimmed.original));
    }
  }
  if (full) {
    labels.emplace_back("\nSee https://git.io/JfYMW for how to read the graph");
  }
  return labels;
}

}  // namespace memtool::commands::pprof
