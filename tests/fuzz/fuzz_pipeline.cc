// From packed bytes to a report: unpack, sniff, read, filter, sum, print in every format, draw.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "memtool/formats/open.h"
#include "memtool/profile/growth/growth_history.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/rows/graph.h"
#include "memtool/profile/rows/merge.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "output/dot_writer.h"
#include "output/writers.h"

namespace {

using namespace memtool;
using namespace memtool::commands;

void Print(const std::vector<Row>& rows) {
  Report report{.command = "top"};
  report.unit = "bytes";
  report.columns = {{"flat", "FLAT"},
                    {"cum", "CUM"},
                    {"name", "WHERE", true, true},
                    {"file", "PLACE", true, true},
                    {"via", "VIA", true, true}};
  for (const Row& row : rows) {
    report.rows.push_back(
        {Amount{row.value.flat}, Amount{row.value.cum}, row.name, row.file, row.via});
  }
  StringSink sink;
  WriteTable(report, {.limit = 20, .width = 80}, sink);
  WriteJson(report, 0, sink);
  WriteJsonLines(report, 0, sink);
  WriteCsv(report, 0, sink);
  WriteMarkdown(report, {}, sink);
}

// Steps by the file's own marks and times, and by parts.
void Grow(const Recording& recording) {
  const Filter filter;
  const HistoryIndex index(recording);
  const View view(index.recording(), filter);
  for (const StepMeasure measure : {StepMeasure::kEnd, StepMeasure::kLow, StepMeasure::kKept}) {
    for (const bool by_time : {false, true}) {
      for (const char* by : {"filefunction", "stack", "label:stream"}) {
        NodeSpace space;
        (void)GrowthOfHistory(index, view, *ParseBy(by),
                              {.parts = by_time ? std::size_t{7} : std::size_t{0},
                               .by_time = by_time,
                               .measure = measure},
                              space);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  formats::OpenOptions options;
  options.limits.unpacked_bytes = 16U << 20U;
  const auto recording = formats::OpenRecording(
      formats::MakeMemorySource(std::as_bytes(std::span(data, size))), "input", options);
  if (!recording) {
    return 0;
  }
  if (recording->history) {
    Grow(*recording);
  }
  const auto choice = ChooseValue(*recording, "");
  if (!choice) {
    return 0;
  }
  for (const FrameMode mode : {FrameMode::kApp, FrameMode::kAll}) {
    FilterOptions filter_options;
    filter_options.frames = mode;
    filter_options.tag_root = mode == FrameMode::kAll ? "device" : "";
    const auto filter = Filter::Compile(filter_options);
    if (!filter) {
      std::abort();
    }
    const View view(*recording, *filter);
    const StackSums sums = SumByStack(view, *choice);
    const Input input{.view = &view, .sums = &sums, .choice = &*choice, .name = "input"};
    for (const char* by : {"filefunction", "stack", "tag", "size"}) {
      NodeSpace space;
      Tabulator table(*ParseBy(by), space);
      table.Add(input);
      Print(table.Rows(SortBy::kCum));
    }
    NodeSpace space;
    const SignedInput inputs[] = {{input, 1}};
    const Graph graph = BuildGraph(inputs, GraphOptions{}, space);
    const DotStyle style{.title = "input", .legend = {"input"}, .amount = [](std::int64_t value) {
                           return FormatSize(value);
                         }};
    if (!WriteDot(graph, space, style)) {
      std::abort();
    }
  }
  const MergeInput merge[] = {{&*recording, 1}, {&*recording, -1}};
  (void)Merge(merge);
  return 0;
}
