// What a backward pass frees again is its temporary; what outlives it is not.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/select/selection.h"
#include "support/make_history.h"

namespace memtool {
namespace {

StackId AddStack(RecordingBuilder& builder, std::string_view function) {
  const StringId name = builder.Intern(function);
  const Line line{.function = builder.AddFunction({.name = name, .system_name = name})};
  return builder.AddStack(std::array{builder.AddLocation({}, std::array{line})});
}

// "10 temporary" per sample at a moment of: forward 1, backward 10 and 20, of which the 10 go
// before the optimizer's 100; then backward 1000, with which the recording ends.
std::vector<std::string> Live(const std::string& moment) {
  RecordingBuilder builder;
  const StackId forward = AddStack(builder, "forward");
  const StackId engine = AddStack(builder, "torch::autograd::Engine::thread_main");
  const StackId apply = AddStack(builder, "MulBackward0::apply");
  const StackId step = AddStack(builder, "step");
  std::vector<Event> events{
      {.key = 1, .size = 1, .stack = forward, .action = Action::kAlloc},
      {.key = 2, .size = 10, .stack = engine, .action = Action::kAlloc},
      {.key = 3, .size = 20, .stack = apply, .action = Action::kAlloc},
      {.key = 2, .size = 10, .stack = engine, .action = Action::kFreeCompleted},
      {.key = 4, .size = 100, .stack = step, .action = Action::kAlloc},
      {.key = 3, .size = 20, .stack = step, .action = Action::kFreeCompleted},
      {.key = 5, .size = 1000, .stack = engine, .action = Action::kAlloc},
      {.key = 5, .size = 1000, .stack = engine, .action = Action::kFreeCompleted}};
  auto selection =
      Select(test::MakeRecording(test::BuildHistory(std::move(events)), {}, std::move(builder)),
             {.moment = *ParseMoment(moment)});
  const Recording& recording = selection->recording();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < recording.profile->size(); ++i) {
    std::string text = std::to_string(recording.profile->values[1][i]);
    for (const Label& label : recording.Labels(recording.profile->label_sets[i])) {
      if (recording.Text(label.key) == "backward") {
        text += " " + std::string(recording.Text(label.text));
      }
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

TEST(BackwardPasses, TemporariesAreFreedWithin) {
  EXPECT_EQ(Live("event:2"), (std::vector<std::string>{"1", "10 temporary", "20"}));
}

TEST(BackwardPasses, WithoutAnEndNothingIsTold) {
  EXPECT_EQ(Live("event:6"), (std::vector<std::string>{"1", "1000", "100"}));
}

}  // namespace
}  // namespace memtool
