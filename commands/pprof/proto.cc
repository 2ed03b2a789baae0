// -proto and -topproto: profiles again.
#include <fmt/format.h>

#include <map>

#include "memtool/formats/pprof_writer.h"
#include "memtool/profile/recording_builder.h"
#include "pprof/measure.h"
#include "pprof/report.h"

namespace memtool::commands::pprof {

namespace {

void ExportLabels(const MutableProfile& from, const LabelSet& set, RecordingBuilder& builder,
                  std::vector<Label>& labels) {
  labels.clear();
  for (const TextLabel& label : set.texts) {
    for (const StringId value : label.values) {
      labels.push_back({.key = builder.Intern(from.Text(label.key)),
                        .text = builder.Intern(from.Text(value)),
                        .unit = StringId(0U)});
    }
  }
  for (const NumberLabel& label : set.numbers) {
    for (std::size_t i = 0; i < label.values.size(); ++i) {
      labels.push_back(
          {.key = builder.Intern(from.Text(label.key)),
           .text = StringId(0U),
           .number = label.values[i],
           .unit = label.units.empty() ? StringId(0U) : builder.Intern(from.Text(label.units[i])),
           .numeric = true});
    }
  }
}

void ExportSymbols(const MutableProfile& from, RecordingBuilder& builder) {
  for (Mapping mapping : from.mappings) {
    mapping.filename = builder.Intern(from.Text(mapping.filename));
    mapping.build_id = builder.Intern(from.Text(mapping.build_id));
    builder.AddMapping(mapping);
  }
  for (Function function : from.functions) {
    function.name = builder.Intern(from.Text(function.name));
    function.system_name = builder.Intern(from.Text(function.system_name));
    function.filename = builder.Intern(from.Text(function.filename));
    builder.AddFunction(function);
  }
  std::vector<Line> lines;
  for (const Place& place : from.places) {
    lines.clear();
    for (const Frame& frame : place.frames) {
      lines.push_back({.function = FunctionId(frame.function), .line = frame.line});
    }
    builder.AddLocation(
        {.mapping = MappingId(place.mapping), .address = place.address, .folded = place.folded},
        lines);
  }
}

void ExportMetadata(const MutableProfile& from, RecordingBuilder& builder) {
  Metadata& metadata = builder.metadata();
  metadata.time_nanos = from.time_nanos;
  metadata.duration_nanos = from.duration_nanos;
  if (!from.period_type.type.empty() || !from.period_type.unit.empty()) {
    metadata.period_type.type = builder.Intern(from.period_type.type);
    metadata.period_type.unit = builder.Intern(from.period_type.unit);
  }
  metadata.period = from.period;
  metadata.drop_frames = builder.Intern(from.drop_frames);
  metadata.keep_frames = builder.Intern(from.keep_frames);
  for (const std::string& comment : from.comments) {
    metadata.comments.push_back(builder.Intern(comment));
  }
}

}  // namespace

Result<Recording> Export(const MutableProfile& profile) {
  RecordingBuilder builder;
  ExportMetadata(profile, builder);
  std::vector<SampleType> types;
  for (const ValueType& type : profile.types) {
    types.push_back({.type = builder.Intern(type.type), .unit = builder.Intern(type.unit)});
  }
  builder.StartProfile(std::move(types), builder.Intern(profile.default_type));
  ExportSymbols(profile, builder);
  std::vector<LocationId> places;
  builder.ReserveStacks(profile.stacks.size(), profile.stacks.place_count());
  for (std::size_t i = 0; i < profile.stacks.size(); ++i) {
    places.clear();
    for (const std::uint32_t place : profile.stacks[i]) {
      places.emplace_back(place);
    }
    builder.AddStack(places);
  }
  std::vector<LabelSetId> sets;
  std::vector<Label> labels;
  for (const LabelSet& set : profile.label_sets) {
    ExportLabels(profile, set, builder, labels);
    sets.push_back(builder.InternLabels(labels));
  }
  std::vector<StackId> stacks;
  std::vector<LabelSetId> label_sets;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    stacks.emplace_back(profile.sample_stacks[i]);
    label_sets.push_back(sets[profile.sample_labels[i]]);
  }
  builder.SetSamples(std::move(stacks), std::move(label_sets), profile.values);
  return std::move(builder).Finish();
}

Result<std::string> WriteProto(Report& report) {
  if (report.ratio > 0 && report.ratio != 1) {
    for (auto& column : report.profile.values) {
      for (std::int64_t& value : column) {
        value = ToInt(static_cast<double>(value) * report.ratio);
      }
    }
  }
  auto recording = Export(report.profile);
  return recording ? formats::WritePprof(*recording) : tl::unexpected(recording.error());
}

Result<std::string> WriteTopProto(Report& report) {
  const GraphReport graph = MakeGraph(report, false);
  MutableProfile top;
  top.types = {{"cum", report.output_unit}, {"flat", report.output_unit}};
  top.time_nanos = report.profile.time_nanos;
  top.duration_nanos = report.profile.duration_nanos;
  top.period_type = report.profile.period_type;
  top.period = report.profile.period;
  top.values.resize(2);
  top.label_sets.emplace_back();
  std::map<std::tuple<StringId, StringId, std::int64_t>, std::uint32_t> functions;
  const auto scaled = [&report](std::int64_t value) {
    return ToInt(Scale(value, report.unit, report.output_unit).value);
  };
  for (const std::uint32_t row : graph.graph().shown) {
    const GraphNode& node = graph.graph().nodes[row];
    const NodeInfo& info = (*graph.table)[node.info];
    const auto [function, added] = functions.try_emplace(
        {info.name, info.file, info.start_line}, static_cast<std::uint32_t>(top.functions.size()));
    if (added) {
      top.functions.push_back({.name = top.strings.Intern(graph.table->Text(info.name)),
                               .system_name = StringId(0U),
                               .filename = top.strings.Intern(graph.table->Text(info.file)),
                               .start_line = info.start_line});
    }
    const auto place = static_cast<std::uint32_t>(top.places.size());
    top.places.push_back({.address = info.address, .frames = {{function->second, info.line}}});
    top.sample_stacks.push_back(top.stacks.Add({{place}}));
    top.sample_labels.push_back(0);
    top.values[0].push_back(scaled(node.cum.Mean()));
    top.values[1].push_back(scaled(node.flat.Mean()));
  }
  auto recording = Export(top);
  return recording ? formats::WritePprof(*recording) : tl::unexpected(recording.error());
}

}  // namespace memtool::commands::pprof
