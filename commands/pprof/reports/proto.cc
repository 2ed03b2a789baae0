// -proto and -topproto: profiles again.
#include <fmt/format.h>

#include <array>
#include <map>

#include "memtool/formats/writer.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/recording_builder.h"
#include "pprof/measure.h"
#include "pprof/report.h"

namespace memtool::commands::pprof {

namespace {

Result<std::string> Written(Result<Recording> recording) {
  return recording ? formats::WriteAs("pprof", *recording) : tl::unexpected(recording.error());
}

// One sample per node, with its cum and flat.
class TopProfile {
 public:
  TopProfile(const PprofReport& report, const GraphReport& graph)
      : report_(report), graph_(graph) {}

  Result<Recording> Run() {
    const Recording& from = report_.recording;
    Metadata& to = builder_.metadata();
    to.time_nanos = from.metadata.time_nanos;
    to.duration_nanos = from.metadata.duration_nanos;
    to.period_type = {.type = builder_.Intern(from.Text(from.metadata.period_type.type)),
                      .unit = builder_.Intern(from.Text(from.metadata.period_type.unit))};
    to.period = from.metadata.period;
    const StringId unit = builder_.Intern(report_.output_unit);
    builder_.StartProfile({{.type = builder_.Intern("cum"), .unit = unit},
                           {.type = builder_.Intern("flat"), .unit = unit}},
                          StringId(0U));
    for (const std::uint32_t row : graph_.graph().shown) {
      AddNode(row);
    }
    return std::move(builder_).Finish();
  }

 private:
  void AddNode(std::uint32_t row) {
    const CallNode& node = graph_.graph().calls.nodes()[row];
    const NodeInfo& info = (*graph_.table)[graph_.graph().info[row]];
    const auto [function, added] = functions_.try_emplace({info.name, info.file, info.start_line});
    if (added) {
      function->second =
          builder_.AddFunction({.name = builder_.Intern(graph_.table->Text(info.name)),
                                .system_name = StringId(0U),
                                .filename = builder_.Intern(graph_.table->Text(info.file)),
                                .start_line = info.start_line});
    }
    const Line line{.function = function->second, .line = info.line};
    const LocationId location = builder_.AddLocation({.address = info.address}, {&line, 1});
    const std::array values{Scaled(Mean(node.cum)), Scaled(Mean(node.flat))};
    builder_.AddSample(builder_.AddStack({&location, 1}), LabelSetId(0U), values);
  }
  [[nodiscard]] std::int64_t Scaled(std::int64_t value) const {
    return ToInt(ConvertUnit(value, report_.unit, report_.output_unit).value);
  }

  const PprofReport& report_;
  const GraphReport& graph_;
  RecordingBuilder builder_;
  std::map<std::tuple<StringId, StringId, std::int64_t>, FunctionId> functions_;
};

}  // namespace

Result<void> WriteProto(PprofReport& report, const ByteSink& byte_sink) {
  if (report.ratio <= 0 || report.ratio == 1) {
    return formats::WriteAs("pprof", report.recording, {}, byte_sink);
  }
  RecordingBuilder builder(std::move(report.recording));
  for (auto& column : builder.samples().values) {
    for (std::int64_t& value : column) {
      value = ToInt(static_cast<double>(value) * report.ratio);
    }
  }
  const auto scaled = std::move(builder).Finish();
  MEMTOOL_TRY(scaled);
  return formats::WriteAs("pprof", *scaled, {}, byte_sink);
}

Result<std::string> WriteTopProto(PprofReport& report) {
  const GraphReport graph = MakeGraph(report, false);
  return Written(TopProfile(report, graph).Run());
}

}  // namespace memtool::commands::pprof
