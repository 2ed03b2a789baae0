// The label use: what a block's size shows, in a recording of a moment.
#include <fmt/format.h>
#include <gmock/gmock.h>
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

using ::testing::UnorderedElementsAre;

constexpr std::int64_t kCublas = 8'519'680;
constexpr std::int64_t kHipblaslt = 79'691'776;
constexpr std::int64_t kHopper = 33'554'432;  // other things are as large

StackId AddStack(RecordingBuilder& builder, std::string_view function, std::string_view file) {
  const StringId name = builder.Intern(function);
  const Line line{.function = builder.AddFunction(
                      {.name = name, .system_name = name, .filename = builder.Intern(file)})};
  return builder.AddStack(std::array{builder.AddLocation({}, std::array{line})});
}

// "bytes use" per sample at a moment.
std::vector<std::string> Uses(const Recording& source, const std::string& moment) {
  auto selection =
      Select(std::make_shared<const Recording>(source), {.moment = *ParseMoment(moment)});
  const Recording& recording = selection->recording();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < recording.profile->size(); ++i) {
    std::string text = std::to_string(recording.profile->values[1][i]);
    for (const Label& label : recording.Labels(recording.profile->label_sets[i])) {
      if (recording.Text(label.key) == "use") {
        text += " " + std::string(recording.Text(label.text));
      }
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

Block Kept(std::uint64_t address, std::int64_t size) {
  return {.address = address, .size = size, .requested = size, .state = BlockState::kActive};
}

TEST(Use, WorkspacesHaveTheirSizeAndStay) {
  RecordingBuilder builder;
  const StackId forward = AddStack(builder, "forward", "model.py");
  std::vector<Event> events{
      {.key = 1ULL << 40U, .size = kCublas, .stack = forward, .action = Action::kAlloc},
      {.key = 2ULL << 40U, .size = kCublas, .stack = forward, .action = Action::kAlloc},
      {.key = 3ULL << 40U, .size = kHopper, .stack = forward, .action = Action::kAlloc},
      {.key = 2ULL << 40U, .size = kCublas, .stack = forward, .action = Action::kFreeCompleted}};
  AllocatorState state =
      test::InOneSegment({Kept(1ULL << 40U, kCublas), Kept(3ULL << 40U, kHopper),
                          Kept(4ULL << 40U, kHipblaslt), Kept(5ULL << 40U, 4096)},
                         0);
  const Recording recording = test::MakeRecording(test::BuildHistory(std::move(events)),
                                                  std::move(state), std::move(builder));
  // Of the two equal ones the freed one is none.
  EXPECT_THAT(Uses(recording, "event:2"),
              UnorderedElementsAre("8519680 workspace", "8519680", "33554432", "79691776 workspace",
                                   "4096"));
}

// Parameters of 1, 2, 3 and 4 KiB were there, and two more of each; something else of 1 KiB, too.
TEST(Use, BlocksFromBeforeTheRecordingAreDivided) {
  RecordingBuilder builder;
  const StackId engine = AddStack(builder, "torch::autograd::Engine::thread_main", "??");
  const StackId step = AddStack(builder, "step", "/sp/torch/optim/adam.py");
  std::vector<Event> events;
  std::vector<Block> blocks{Kept(0xA00000, 1024), Kept(0xA10000, 777)};
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const auto size = static_cast<std::int64_t>(i * 1024);
    events.push_back({.key = i << 20U, .size = size, .stack = engine, .action = Action::kAlloc});
    blocks.push_back(Kept(i << 20U, size));
    for (std::uint64_t copy = 1; copy <= 3; ++copy) {
      blocks.push_back(Kept((i << 20U) + (copy << 16U), size));
    }
  }
  events.push_back({.key = 9ULL << 20U, .size = 5, .stack = step, .action = Action::kAlloc});
  blocks.push_back(Kept(9ULL << 20U, 5));
  const Recording recording =
      test::MakeRecording(test::BuildHistory(std::move(events)),
                          test::InOneSegment(std::move(blocks), 0), std::move(builder));
  EXPECT_THAT(Uses(recording, "start"),
              UnorderedElementsAre("1024 parameter", "2048 parameter", "3072 parameter",
                                   "4096 parameter", "2048 optimizer_state", "4096 optimizer_state",
                                   "6144 optimizer_state", "8192 optimizer_state", "1024", "777"));
}

}  // namespace
}  // namespace memtool
