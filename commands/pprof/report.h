// One report of `memtool pprof`: the profile after all edits, and the texts made of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "output/whole_file.h"
#include "pprof/edits.h"
#include "pprof/graph.h"
#include "pprof/profile.h"
#include "pprof/settings.h"

namespace memtool::commands::pprof {

struct PprofReport {
  Recording recording;
  Settings settings;  // as the report wants them
  LabelUnits units;   // of numeric labels
  std::size_t type = 0;
  std::string type_name;  // "space", "mean_space"
  std::string unit;       // of the values
  std::string output_unit;
  std::string title;
  std::int64_t total = 0;
  double ratio = 1;

  [[nodiscard]] std::string Value(std::int64_t value) const;
  // That fraction of the total, without its sign, as text.
  [[nodiscard]] std::string Fraction(double fraction) const;
};

// Turns a loaded profile into a report: label frames, total, filters, granularity.
Result<PprofReport> MakePprofReport(Recording recording, Settings settings, const WarnUser& warn);

// A graph and everything it refers to.
struct GraphReport {
  std::unique_ptr<NodeTable> table;
  Trimmed trimmed;

  [[nodiscard]] const PprofGraph& graph() const { return trimmed.graph; }
  [[nodiscard]] std::string Name(std::uint32_t node) const {
    return table->Name(graph().info[node]);
  }
};
// Builds the report's graph and chooses the unit that it is written in.
GraphReport MakeGraph(PprofReport& report, bool with_edges);

// The nodes of the report's granularity, before or without a graph.
NodeKey GetKey(const Settings& settings);

// The header lines; each is ready to be printed.
std::vector<std::string> ProfileLabels(const PprofReport& report);
std::vector<std::string> ReportLabels(const PprofReport& report, const GraphReport& graph,
                                      bool full);

// Whether a report lists samples, so that it may be larger than its profile.
bool IsLong(std::string_view name);
// Hands the report over; a long one piece by piece. Errors: also those of `take`.
Result<void> WriteReport(PprofReport& report, const ByteSink& byte_sink);

std::string WriteTop(PprofReport& report);
Result<std::string> WriteTree(
    PprofReport& report);  // kUsage: the expression of -peek matches nothing
Result<void> WriteTraces(PprofReport& report, const ByteSink& byte_sink);
std::string WriteTags(const PprofReport& report);
Result<void> WriteRaw(const PprofReport& report, const ByteSink& byte_sink);
std::string WriteComments(const PprofReport& report);
std::string WriteCallgrind(PprofReport& report);
std::string WriteGraph(PprofReport& report);  // DOT
Result<void> WriteProto(PprofReport& report, const ByteSink& byte_sink);
Result<std::string> WriteTopProto(PprofReport& report);

}  // namespace memtool::commands::pprof
