// From packed bytes to an answer: unpack, sniff, read, filter, sum, print in every format, draw.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "common/reading.h"
#include "common/strict_text.h"
#include "memtool/formats/open.h"
#include "memtool/profile/answers/top.h"
#include "memtool/profile/answers/write.h"
#include "memtool/profile/growth/growth_history.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/rows/graph.h"
#include "memtool/profile/rows/merge.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"
#include "output/graph/dot_writer.h"
#include "output/tabulate.h"
#include "output/writers.h"
#include "targets.h"

namespace {

using namespace memtool;
using namespace memtool::commands;

void Print(const std::vector<Row>& rows) {
  TopAnswer answer{.head = {.question = "top", .unit = "bytes"}};
  for (const Row& row : rows) {
    answer.rows.push_back({.name = row.name,
                           .file = row.file,
                           .flat = row.value.flat,
                           .cum = row.value.cum,
                           .via = row.via});
  }
  const AnswerView view = MakeView(answer);
  std::string text;
  const TextSink append = [&text](std::string_view bytes) { text += bytes; };
  WriteJson(view, 0, append);
  fuzz::Require(fuzz::IsJson(text), "JSON that is none");
  text.clear();
  WriteJsonLines(view, 0, append);
  fuzz::Require(fuzz::IsJsonLines(text), "lines of JSON that are none");
  text.clear();
  WriteCsv(view, 0, append);
  fuzz::Require(fuzz::IsCsv(text), "CSV that is none");
  TextTable table;
  Tabulate(answer.rows, TableColumns<TopRow>(kTopFields, true).all(), 20, 0, table);
  StringSink sink;
  WriteTable(table, {.limit = 20, .width = 80}, sink);
  WriteMarkdown(table, {}, sink);
}

// Steps by the file's own marks and times, and by parts.
void Grow(const Recording& recording) {
  const Filter filter;
  const HistoryIndex index(recording);
  const View view(index.recording(), filter);
  for (const StepMeasure measure : {StepMeasure::kEnd, StepMeasure::kLow, StepMeasure::kRetained}) {
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

int memtool::fuzz::FuzzPipeline(const std::uint8_t* data, std::size_t size) {
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
