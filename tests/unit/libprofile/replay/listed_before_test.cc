// Allocations from before the recording that a file lists like others.
#include <gtest/gtest.h>

#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/replay/replay.h"
#include "support/make_history.h"

namespace memtool {
namespace {

// Earlier allocations that the first events list belong to the start.
TEST(Replay, TheStartIsAfterWhatIsListedOfBefore) {
  History history = test::BuildHistory({{.key = 1, .size = 100, .action = Action::kAlloc},
                                        {.key = 2, .size = 30, .action = Action::kAlloc},
                                        {.key = 3, .size = 5, .action = Action::kAlloc},
                                        {.key = 1, .size = 100, .action = Action::kFreeCompleted}});
  history.traces[0].listed_before = 2;
  const HistoryIndex index(test::MakeRecording(history));
  const Trace& trace = index.history().traces[0];
  const TraceSummary s = Replay(index.recording(), trace).Summarize();
  EXPECT_EQ(s.base_bytes, 0);
  EXPECT_EQ(s.start_bytes, 130);
  EXPECT_EQ(s.peak_bytes, 135);
  EXPECT_EQ(s.end_bytes, 35);
  EXPECT_EQ(ResolveMoment(index, trace, *ParseMoment("start")).value(), 1);
  for (const auto change : {&Trace::preexisting_bytes, &Trace::preexisting_reserved}) {
    RecordingBuilder wrong;
    history.traces[0].*change = -1;
    wrong.SetHistory(history);
    EXPECT_FALSE(std::move(wrong).Finish());
    history.traces[0].*change = 0;
  }
  history.traces[0].listed_before = 5;
  RecordingBuilder wrong;
  wrong.SetHistory(history);
  EXPECT_FALSE(std::move(wrong).Finish());
}

}  // namespace
}  // namespace memtool
