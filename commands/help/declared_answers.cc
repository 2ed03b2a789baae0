#include "help/declared_answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "help/declared_figures.h"
#include "info/property.h"
#include "memtool/profile/answers/account.h"
#include "memtool/profile/answers/advise.h"
#include "memtool/profile/answers/aligned.h"
#include "memtool/profile/answers/aligned_ranks.h"
#include "memtool/profile/answers/buckets.h"
#include "memtool/profile/answers/check.h"
#include "memtool/profile/answers/churn.h"
#include "memtool/profile/answers/context_fit.h"
#include "memtool/profile/answers/diff.h"
#include "memtool/profile/answers/events.h"
#include "memtool/profile/answers/fit.h"
#include "memtool/profile/answers/flame.h"
#include "memtool/profile/answers/leaks.h"
#include "memtool/profile/answers/oom.h"
#include "memtool/profile/answers/oom_inputs.h"
#include "memtool/profile/answers/ranks.h"
#include "memtool/profile/answers/segments.h"
#include "memtool/profile/answers/steps.h"
#include "memtool/profile/answers/tags.h"
#include "memtool/profile/answers/timeline.h"
#include "memtool/profile/answers/top.h"
#include "memtool/profile/answers/traces.h"
#include "memtool/profile/answers/tree.h"
#include "memtool/profile/answers/whatif.h"
#include "next/next.h"

namespace memtool::commands {

namespace {

// After the fields of a timeline: a column per layer.
constexpr FieldInfo kLayers[] = {
    // NOLINT
    {"before_recording", "", Unit::kBytes, "what was there before the recording", "integer|null?"},
    {"layer_N", "", Unit::kBytes, "what the row of --by holds", "integer|null?"},
    {"rest", "", Unit::kBytes, "what all others hold", "integer|null?"},
};

template <class Fields>
DeclaredAnswer Declare(std::string_view question, std::string_view command, const Fields& fields,
                       std::span<const FigureInfo> figures = {}) {
  DeclaredAnswer answer{.question = question, .command = command, .fields = {}, .figures = figures};
  for (const auto& field : fields) {
    answer.fields.push_back(field.Info());
  }
  if (question == "timeline") {
    answer.fields.insert(answer.fields.end(), std::begin(kLayers), std::end(kLayers));
  }
  return answer;
}

}  // namespace

std::vector<DeclaredAnswer> DeclaredAnswers() {
  return {
      Declare("top", "top", kTopFields, kTopFigures),
      Declare("diff", "diff", kDiffFields, kDiffFigures),
      Declare("diff-align", "diff", kAlignedFields, kDiffAlignFigures),
      Declare("diff-align-ranks", "diff", AlignedRankFields(), kDiffAlignRanksFigures),
      Declare("events", "events", kEventFields),
      Declare("events", "events", kChurnFields, kChurnFigures),
      Declare("leaks", "leaks", kLeaksFields, kLeaksFigures),
      Declare("traces", "traces", kTracesFields, kTracesFigures),
      Declare("tags", "tags", kTagsFields, kTagsFigures),
      Declare("tree", "tree", kTreeFields, kTreeFigures),
      Declare("peek", "peek", kTreeFields, kTreeFigures),
      Declare("flame", "flame", kFlameFields, kFlameFigures),
      Declare("segments", "segments", kSegmentFields, kSegmentsFigures),
      Declare("timeline", "timeline", kTimelineFields),
      Declare("steps", "steps", kStepsFields, kStepsFigures),
      Declare("buckets", "buckets", kBucketFields, kBucketsFigures),
      Declare("buckets", "buckets", kExplanationFields, kExplanationFigures),
      Declare("account", "account", kAccountFields),
      Declare("oom", "oom", kOomFields, kOomFigures),
      Declare("oom-inputs", "oom", kOomInputFields, kOomInputsFigures),
      Declare("ranks", "ranks", RankFields(), kRanksFigures),
      Declare("check", "check", CheckFields(), kCheckFigures),
      Declare("whatif", "whatif", kWhatifFields, kWhatifFigures),
      Declare("advise", "advise", kAdviseFields, kAdviseFigures),
      Declare("fit", "fit", kFitFields, kFitFigures),
      Declare("fit-context", "fit", kContextFields, kContextFigures),
      Declare("info", "info", kPropertyFields),
      Declare("overview", "overview", kNextFields, kOverviewFigures),
  };
}

std::string ColumnsText(std::string_view command) {
  std::string text;
  for (const DeclaredAnswer& answer : DeclaredAnswers()) {
    if (!command.empty() && answer.command != command) {
      continue;
    }
    text += fmt::format("{}Columns of memtool {}: their titles in tables, their keys in data\n\n",
                        text.empty() ? "" : "\n", answer.command);
    for (const FieldInfo& field : answer.fields) {
      text += fmt::format("{:<14}  {:<19}  {}\n", field.title,
                          field.in_data ? field.key : std::string_view(), field.meaning);
    }
    if (!answer.figures.empty()) {
      text += "\nand besides the rows, in JSON:\n\n";
    }
    for (const FigureInfo& figure : answer.figures) {
      text += fmt::format("{:<24}  {}\n", figure.key, figure.meaning);
    }
  }
  return text;
}

std::string ColumnLegend(std::string_view command) {
  const std::vector<DeclaredAnswer> answers = DeclaredAnswers();
  const auto answer =
      std::find_if(answers.begin(), answers.end(),
                   [command](const DeclaredAnswer& one) { return one.command == command; });
  std::string text;
  if (answer != answers.end()) {
    for (const FieldInfo& field : answer->fields) {
      text += field.title.empty() ? "" : fmt::format("  {:<14}  {}\n", field.title, field.meaning);
    }
  }
  return text.empty() ? text : "\nColumns:\n" + text;
}

}  // namespace memtool::commands
