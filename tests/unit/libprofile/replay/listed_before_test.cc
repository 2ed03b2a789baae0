// Allocations from before the recording that a file lists like others.
#include <gtest/gtest.h>

#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {
namespace {

// What the first events list of before belongs to the start.
TEST(Replay, TheStartIsAfterWhatIsListedOfBefore) {
  History history;
  history.ledgers = {{.name = "blocks", .device = 0}};
  history.streams = {0};
  history.events = {{.key = 1, .size = 100, .action = Action::kAlloc},
                    {.key = 2, .size = 30, .action = Action::kAlloc},
                    {.key = 3, .size = 5, .action = Action::kAlloc},
                    {.key = 1, .size = 100, .action = Action::kFreeCompleted}};
  history.traces = {{.device = 0,
                     .name = "0",
                     .event_count = 4,
                     .blocks = LedgerId(0U),
                     .segments = LedgerId(0U),
                     .listed_before = 2}};
  RecordingBuilder builder;
  builder.Intern({});
  builder.SetHistory(history);
  const Recording recording = *std::move(builder).Finish();
  const Trace& trace = recording.history->traces[0];
  const TraceSummary s = Replay(recording, trace).Summarize();
  EXPECT_EQ(s.base_bytes, 0);
  EXPECT_EQ(s.start_bytes, 130);
  EXPECT_EQ(s.peak_bytes, 135);
  EXPECT_EQ(s.end_bytes, 35);
  EXPECT_EQ(ResolveMoment(recording, trace, *ParseMoment("start")).value(), 1);
  for (const auto change : {&Trace::standing_bytes, &Trace::standing_reserved}) {
    RecordingBuilder wrong;
    wrong.Intern({});
    history.traces[0].*change = -1;
    wrong.SetHistory(history);
    EXPECT_FALSE(std::move(wrong).Finish());
    history.traces[0].*change = 0;
  }
  history.traces[0].listed_before = 5;
  RecordingBuilder wrong;
  wrong.Intern({});
  wrong.SetHistory(history);
  EXPECT_FALSE(std::move(wrong).Finish());
}

}  // namespace
}  // namespace memtool
