// Which question to ask next, by what an input holds and what the answer shows: the last lines of
// every answer that is text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/field.h"
#include "memtool/profile/model/recording.h"
#include "output/sink.h"

namespace memtool::commands {

// What the first input of a command line holds.
struct InputFacts {
  std::vector<std::string_view> questions;  // memtool::QuestionsFor
  Framework framework = Framework::kUnknown;
  bool plan = false;       // a compiled program, which has not run
  bool log = false;        // what a job printed
  bool run = false;        // it tells how a run went on: no plan, and more than its end
  bool blocks = false;     // of an allocator, at one moment
  bool labels = false;     // samples have labels that differ
  bool one_stack = false;  // or none: there is no tree of calls
  bool trains = false;     // PyTorch, with a backward pass
  bool ran_out = false;    // a failed allocation is recorded
};

InputFacts FactsOf(const Recording& recording);

// What the answers so far say.
struct Found {
  bool grows = false;        // memtool leaks finds a trend
  bool many_others = false;  // a quarter of the bytes or more is in no category
  std::string name{};        // of the function that the first row is about, where it is a plain one
  bool events = false;       // a row is an event, and none a sum of many
  std::string label{};       // the key of the first row of `tags`
};

// Whether so many bytes of all should have a category.
bool AreMany(std::int64_t others, std::int64_t total);
Found FoundIn(const AnswerView& answer);

struct NextStep {
  std::string command;  // "memtool leaks snapshot.pickle"
  std::string_view why;
};

inline constexpr auto kNextFields = Fields<NextStep>({
    {"command", "NEXT", Unit::kText, &NextStep::command, "a command to go on with"},
    {"why", "", Unit::kText, [](const NextStep& step) { return Value(step.why); }, "what it shows"},
});

// The first `most` that lead somewhere, the most telling first. `asked`: the command that answers;
// `facts`: null where no input is a recording; `files`: as they were given, a base first.
std::vector<NextStep> NextSteps(std::string_view asked, const InputFacts* facts, const Found& found,
                                std::span<const std::string> files, std::size_t most);
// After an answer from one command: at most two; none where its input cannot be read again.
std::vector<NextStep> NextSteps(const AnswerView& answer, const InputFacts* facts);

// A line each, after "NEXT" in a margin of `indent` columns. What a command shows stands beside it,
// as a shell's comment, where a terminal of `width` columns (0 = none) has room for it.
std::string NextText(std::span<const NextStep> steps, std::size_t width, std::size_t indent = 6);

// The same after an answer, for a command that was not asked to be quiet; empty where nobody reads
// it.
std::string NextLines(const AnswerView& answer, const Streams& streams, std::size_t width);

}  // namespace memtool::commands
