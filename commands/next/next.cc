#include "next/next.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <utility>

#include "memtool/profile/model/answerable.h"
#include "memtool/profile/model/extent.h"
#include "memtool/profile/steps/phases.h"
#include "next/answer_values.h"
#include "output/escape.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxSteps = 2;
constexpr std::size_t kMaxFiles = 4;  // of a line that names all
constexpr double kManyOthers = 0.25;
constexpr double kTelling = 0.3;  // of all bytes, for the first row to be asked about

// One of the conditions that a rule may have; all that it has must hold.
enum Condition : std::uint16_t {
  kAlways = 0,
  kRanOut = 1U << 0U,
  kRun = 1U << 1U,
  kBlocks = 1U << 2U,
  kNoPlan = 1U << 3U,
  kPyTorch = 1U << 4U,
  kKnown = 1U << 5U,  // the framework
  kLabels = 1U << 6U,
  kGrows = 1U << 7U,
  kOthers = 1U << 8U,
  kSeveral = 1U << 9U,  // files
  kEvents = 1U << 10U,  // a row is an event
  kLog = 1U << 11U,     // what a job printed
  kNoLog = 1U << 12U,
  kTrains = 1U << 13U,  // PyTorch, with a backward pass
  kStacks = 1U << 14U   // more than one
};

struct Rule {
  std::string_view asked;     // the commands after which it is said, each between blanks
  std::string_view question;  // of memtool::QuestionsFor; empty: any input has an answer
  unsigned conditions;
  // {all}, {one} (where there is one only), {first} and {last} are files, {name} and {label} what
  // the first row is about.
  std::string_view words;
  std::string_view why;
};

// In the order in which they are said. tests/next runs every line that the cases print.
constexpr auto kRules = std::to_array<Rule>({
    {" overview top segments whatif timeline ", "oom", kRanOut, "oom {all}",
     "why it failed, and what would have helped"},
    {" overview ", "whatif", kRanOut | kPyTorch, "whatif {one}",
     "the run replayed with other allocator settings"},
    {" overview ", "leaks", kGrows, "leaks {one}", "which lines grow, step by step"},
    {" overview buckets ", "buckets", kOthers, "buckets --explain Others {all}",
     "what is in no category"},
    {" overview top account buckets timeline fit-context ", "", kLog, "info {one}",
     "what the log says, line by line"},
    {" overview top account buckets ", "fit", kLog, "fit {one}",
     "how long a context its KV cache could have"},
    {" overview top ", "timeline", kRun, "timeline {one}",
     "memory over the whole run, by who holds it"},
    {" overview timeline ", "steps", kRun | kNoLog | kStacks, "steps {one}",
     "the peak of each step"},
    {" overview account ", "segments", kBlocks | kNoPlan, "segments {one}",
     "what the allocator holds, and what fragments it"},
    {" top leaks diff ", "peek", kAlways, "peek {name} {last}", "who calls it, and what it calls"},
    {" overview peek tree traces ", "flame", kNoLog | kStacks, "flame {all}",
     "the whole call tree"},
    {" overview ", "tags", kLabels | kNoPlan, "tags {all}",
     "bytes by label: device, kind and others"},
    {" overview buckets ", "account", kKnown, "account {all}", "where every byte of the card went"},
    {" diff ", "flame", kSeveral, "flame --diff-base {first} {last}",
     "what grew and shrank in the call tree"},
    {" leaks ", "", kSeveral, "diff {first} {last}", "what changed from the first to the last"},
    {" leaks steps ", "timeline", kRun, "timeline {one}", "memory over the whole run"},
    {" segments ", "whatif", kRun | kPyTorch, "whatif {one}",
     "the run replayed with other allocator settings"},
    {" tags ", "top", kAlways, "top --by label:{label} {all}",
     "a row for each value of that label"},
    {" events ", "timeline", kAlways, "timeline {one}", "memory over the whole run"},
    {" events ", "events", kEvents, "events --summary {one}", "how long allocations live"},
    {" whatif steps ", "whatif", kRun | kTrains, "advise {one}",
     "which change of the program makes it fit"},
    {" advise ", "steps", kRun, "steps {one}", "what each step needs, and who keeps it"},
    {" whatif ", "segments", kBlocks, "segments {one}", "what fragmented it as it was"},
    {" top ", "buckets", kKnown, "buckets {all}", "the same bytes by category"},
    {" info ", "", kAlways, "{one}", "all of it on one screen"},
    {" info check fit fit-context tags account segments events steps whatif buckets tree flame ",
     "top", kAlways, "top {last}", "what holds it, function by function"},
    {" top ", "flame", kNoLog | kStacks, "flame {all}", "the whole call tree"},
});

bool Holds(unsigned conditions, const InputFacts* facts, const Found& found, std::size_t files) {
  const InputFacts none;
  const InputFacts& input = facts == nullptr ? none : *facts;
  const std::array<std::pair<Condition, bool>, 15> all{
      {{kRanOut, input.ran_out},
       {kRun, input.run},
       {kBlocks, input.blocks},
       {kNoPlan, !input.plan},
       {kPyTorch, input.framework == Framework::kPyTorch},
       {kKnown, HasDictionary(input.framework)},
       {kLabels, input.labels},
       {kGrows, found.grows},
       {kOthers, found.many_others},
       {kSeveral, files > 1},
       {kEvents, found.events},
       {kLog, input.log},
       {kNoLog, !input.log},
       {kTrains, input.trains},
       {kStacks, !input.one_stack}}};
  return std::all_of(all.begin(), all.end(), [conditions](const auto& condition) {
    return (conditions & condition.first) == 0 || condition.second;
  });
}

// As a shell and a regular expression take it as it is: others are left for people to write.
bool IsPlain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == ':';
  });
}

std::int64_t FigureOf(const AnswerView& answer, std::string_view key) {
  const auto found = std::find_if(answer.figures.begin(), answer.figures.end(),
                                  [key](const NamedValue& figure) { return figure.first == key; });
  return found == answer.figures.end() ? 0 : NumberOf(found->second);
}

// The bytes of `buckets` that are in no category.
std::int64_t OthersOf(const AnswerView& answer) {
  for (const auto next = answer.rows(0); const AnswerView::Values* row = next();) {
    const Value* bucket = ValueOf(answer, *row, "bucket");
    const Value* bytes = ValueOf(answer, *row, "bytes");
    if (bucket != nullptr && bytes != nullptr && TextOf(*bucket) == "Others") {
      return NumberOf(*bytes);
    }
  }
  return 0;
}

struct FirstRow {
  const AnswerView& answer;
  const AnswerView::Values& values;

  // Empty and 0 where the answer has no such field.
  [[nodiscard]] std::string Text(std::string_view key) const {
    const Value* value = ValueOf(answer, values, key);
    return value == nullptr ? std::string() : TextOf(*value);
  }
  [[nodiscard]] std::int64_t Number(std::string_view key) const {
    const Value* value = ValueOf(answer, values, key);
    return value == nullptr ? 0 : NumberOf(*value);
  }
};

}  // namespace

InputFacts FactsOf(const Recording& recording) {
  InputFacts facts{.questions = QuestionsFor(recording),
                   .framework = recording.metadata.origin.framework,
                   .plan = recording.metadata.origin.kind == RecordingKind::kProgram,
                   .log = recording.metadata.origin.kind == RecordingKind::kLog,
                   .blocks = recording.state != nullptr,
                   .labels = recording.label_set_count() > 1,
                   .one_stack = recording.stack_count() <= 1};
  facts.run = !facts.plan && CanAnswer(recording, "leaks") && ExtentOf(recording) == Extent::kWhole;
  facts.trains = facts.run && facts.framework == Framework::kPyTorch && HasBackward(recording);
  facts.ran_out = CanAnswer(recording, "oom") && recording.history->Has(Action::kOom);
  return facts;
}

bool AreMany(std::int64_t others, std::int64_t total) {
  return total > 0 && static_cast<double>(others) >= kManyOthers * static_cast<double>(total);
}

Found FoundIn(const AnswerView& answer) {
  Found found;
  const std::int64_t total = FigureOf(answer, "total");
  const std::string_view question = answer.head->question;
  if (question == "buckets") {
    found.many_others = AreMany(OthersOf(answer), total);
    return found;
  }
  found.events = std::any_of(answer.fields.begin(), answer.fields.end(),
                             [](const FieldInfo& field) { return field.key == "event"; });
  // Rows that are made on the way are made for nobody else.
  constexpr auto kAboutRow = std::to_array<std::string_view>({"top", "diff", "leaks", "tags"});
  if (std::find(kAboutRow.begin(), kAboutRow.end(), question) == kAboutRow.end()) {
    return found;
  }
  const auto next = answer.rows(1);
  const AnswerView::Values* values = next();
  if (values == nullptr) {
    return found;
  }
  const FirstRow row{answer, *values};
  if (question == "leaks") {
    found.grows = row.Number("slope") > 0 && row.Text("kind") != "noise";
  }
  if (question == "tags") {
    found.label = IsPlain(row.Text("key")) ? row.Text("key") : "";
  }
  const std::int64_t share = question == "top"    ? row.Number("flat")
                             : question == "diff" ? row.Number("delta")
                             : found.grows        ? total
                                                  : 0;
  // A function has a file; other rows' names are not those of frames.
  const bool telling =
      share > 0 && static_cast<double>(share) >= kTelling * static_cast<double>(total);
  if (telling && !row.Text("file").empty() && IsPlain(row.Text("name"))) {
    found.name = row.Text("name");
  }
  return found;
}

std::vector<NextStep> NextSteps(std::string_view asked, const InputFacts* facts, const Found& found,
                                std::span<const std::string> files, std::size_t most) {
  if (files.empty()) {
    return {};
  }
  std::string all;
  for (const std::string& file : files) {
    all += (all.empty() ? "" : " ") + ShellName(file);
  }
  const auto needs = [](const Rule& rule, std::string_view what) {
    return rule.words.find(what) != std::string_view::npos;
  };
  const std::string mark = fmt::format(" {} ", asked);
  std::vector<NextStep> steps;
  for (const Rule& rule : kRules) {
    const bool answered =
        rule.question.empty() ||
        (facts != nullptr && std::find(facts->questions.begin(), facts->questions.end(),
                                       rule.question) != facts->questions.end());
    if (steps.size() == most || rule.asked.find(mark) == std::string_view::npos || !answered ||
        !Holds(rule.conditions, facts, found, files.size()) ||
        (needs(rule, "{name}") && found.name.empty()) ||
        (needs(rule, "{label}") && found.label.empty()) ||
        (needs(rule, "{all}") && files.size() > kMaxFiles) ||
        (needs(rule, "{one}") && files.size() > 1)) {
      continue;
    }
    steps.push_back(
        {"memtool " + fmt::format(fmt::runtime(rule.words), fmt::arg("all", all),
                                  fmt::arg("one", all), fmt::arg("first", ShellName(files.front())),
                                  fmt::arg("last", ShellName(files.back())),
                                  fmt::arg("name", found.name), fmt::arg("label", found.label)),
         rule.why});
  }
  return steps;
}

std::vector<NextStep> NextSteps(const AnswerView& answer, const InputFacts* facts) {
  std::vector<std::string> files;
  for (const InputNote& input : answer.head->inputs) {
    files.push_back(input.path);
  }
  if (std::find(files.begin(), files.end(), "standard input") != files.end()) {
    return {};
  }
  return NextSteps(answer.head->question, facts, FoundIn(answer), files, kMaxSteps);
}

std::string NextText(std::span<const NextStep> steps, std::size_t width, std::size_t indent) {
  const std::size_t beside = indent + 4;  // "  # "
  const std::size_t room = width == 0 ? SIZE_MAX : width - std::min(width, beside);
  std::size_t wide = 0;
  std::size_t longest = 0;
  for (const NextStep& step : steps) {
    wide = std::max(wide, DisplayWidth(step.command));
    longest = std::max(longest, DisplayWidth(step.why));
  }
  // One below the other where there is room for all, else each behind its command.
  const bool aligned = wide + longest <= room;
  std::string text;
  for (const NextStep& step : steps) {
    const std::size_t size = DisplayWidth(step.command);
    text += fmt::format("{:<{}}{}", text.empty() ? "NEXT" : "", indent, step.command);
    if (!step.why.empty() && size + DisplayWidth(step.why) <= room) {
      text += fmt::format("{:{}}  # {}", "", aligned ? wide - size : 0, step.why);
    }
    text += "\n";
  }
  return text;
}

std::string NextLines(const AnswerView& answer, const Streams& streams, std::size_t width) {
  return streams.names_next ? NextText(NextSteps(answer, streams.facts.get()), width) : "";
}

}  // namespace memtool::commands
