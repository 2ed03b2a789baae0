// Which question to ask next, by what an input holds and what the answers so far say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/field.h"
#include "memtool/profile/model/recording.h"

namespace memtool::commands {

// What the overview found out.
struct Found {
  bool ran_out = false;      // a failed allocation is recorded
  bool grows = false;        // memtool leaks finds a trend
  bool many_others = false;  // a quarter of the bytes or more is in no category
};

struct NextStep {
  std::string command;  // "memtool leaks snapshot.pickle"
  std::string_view why;
};

inline constexpr auto kNextFields = Fields<NextStep>({
    {"command", "NEXT", Unit::kText, &NextStep::command, "a command to go on with"},
    {"why", "", Unit::kText, [](const NextStep& step) { return Value(step.why); }, "what it shows"},
});

// Whether it tells how a run went on: not of a plan, and not of what holds its end only.
bool HasRun(const Recording& recording);

// At most four, the most telling first. `file`: as a shell takes it.
std::vector<NextStep> NextSteps(const Recording& recording, const Found& found,
                                std::string_view file);

}  // namespace memtool::commands
