// What PyTorch's viewer calls blocks, which event ends what, and what a filter lets through.
#include "memtool/profile/history/events.h"

#include <gtest/gtest.h>

#include "memtool/profile/select/view.h"
#include "support/make_history.h"

namespace memtool {
namespace {

Event MakeEvent(Action action, std::uint64_t key, std::int64_t size = 512) {
  return {.key = key, .size = size, .stack = {}, .action = action};
}

Recording Record(const std::vector<std::vector<Event>>& lists) {
  History history;
  for (const std::vector<Event>& events : lists) {
    test::AddTrace(history, events);
  }
  return test::MakeRecording(std::move(history));
}

std::vector<ListedEvent> List(const Recording& recording, std::vector<EventRange> ranges,
                              const EventFilter& filter = {}) {
  const Filter all;
  const View view(recording, all);
  const HistoryIndex index(std::shared_ptr<const Recording>(&recording, [](const Recording*) {}));
  EventCursor cursor(index, view, std::move(ranges), filter);
  std::vector<ListedEvent> listed;
  for (ListedEvent event; cursor.Next(event);) {
    listed.push_back(event);
  }
  return listed;
}

std::string Ids(const std::vector<ListedEvent>& listed) {
  std::string text;
  for (const ListedEvent& event : listed) {
    text += (event.id ? ToString(*event.id) : "-") + " ";
  }
  return text;
}

TEST(BlockId, ReadsWhatTheViewerWrites) {
  for (const char* text : {"b7f064c000000_0", "b'7f064c000000_0"}) {
    const auto id = ParseBlockId(text);
    ASSERT_TRUE(id) << text;
    EXPECT_EQ(*id, (BlockId{.segment = false, .address = 0x7f064c000000, .version = 0}));
    EXPECT_EQ(ToString(*id), "b7f064c000000_0");
  }
  EXPECT_EQ(*ParseBlockId("sffffffffffffffff_12"),
            (BlockId{.segment = true, .address = UINT64_MAX, .version = 12}));
}

TEST(BlockId, RefusesEverythingElse) {
  for (const char* text : {"", "b", "b_0", "7f00_0", "b7f00", "b7f00_", "b7f00_0x", "b7f00_-1",
                           "x7f00_0", "'7f00_0", "b10000000000000000_0", "b 7f00_0", "b-7f_0"}) {
    EXPECT_FALSE(ParseBlockId(text)) << text;
  }
}

TEST(Actions, GroupsAndLists) {
  const auto bit = [](Action action) { return 1U << static_cast<unsigned>(action); };
  EXPECT_EQ(*ParseActions("alloc"), bit(Action::kAlloc));
  EXPECT_EQ(*ParseActions("free"), bit(Action::kFreeRequested) | bit(Action::kFreeCompleted));
  EXPECT_EQ(*ParseActions("oom,segment"), bit(Action::kOom) | bit(Action::kSegmentAlloc) |
                                              bit(Action::kSegmentFree) | bit(Action::kSegmentMap) |
                                              bit(Action::kSegmentUnmap));
  EXPECT_FALSE(ParseActions("free,"));
  EXPECT_FALSE(ParseActions(""));
}

TEST(EventCursor, CountsVersionsOverAllListsAndApartForSegments) {
  const Recording recording =
      Record({{MakeEvent(Action::kSegmentAlloc, 0x100), MakeEvent(Action::kAlloc, 0x100),
               MakeEvent(Action::kFreeRequested, 0x100), MakeEvent(Action::kFreeCompleted, 0x100),
               MakeEvent(Action::kAlloc, 0x100), MakeEvent(Action::kOom, 0x100),
               MakeEvent(Action::kSegmentFree, 0x100), MakeEvent(Action::kSegmentMap, 0x100)},
              {MakeEvent(Action::kAlloc, 0x100)}});
  EXPECT_EQ(Ids(List(recording, {{0, 0, 7}, {1, 0, 0}})),
            "s100_0 b100_0 b100_0 b100_0 b100_1 - s100_0 s100_1 b100_1 ");
  // A device that is not selected still counts in the numbers.
  EXPECT_EQ(Ids(List(recording, {{1, 0, 0}})), "b100_1 ");
  EXPECT_EQ(Ids(List(recording, {{0, 4, 6}})), "b100_1 - s100_0 ");
}

TEST(EventCursor, KnowsTheOtherEnd) {
  const Recording recording =
      Record({{MakeEvent(Action::kAlloc, 0x1),             // 0
               MakeEvent(Action::kAlloc, 0x2),             // 1
               MakeEvent(Action::kFreeRequested, 0x1),     // 2 waits
               MakeEvent(Action::kFreeRequested, 0x2),     // 3
               MakeEvent(Action::kFreeCompleted, 0x2),     // 4
               MakeEvent(Action::kFreeCompleted, 0x1),     // 5
               MakeEvent(Action::kFreeCompleted, 0x3),     // 6 from before
               MakeEvent(Action::kSegmentAlloc, 0x9, 8),   // 7
               MakeEvent(Action::kSegmentFree, 0x9, 8),    // 8
               MakeEvent(Action::kSegmentMap, 0x9, 16),    // 9
               MakeEvent(Action::kSegmentUnmap, 0x9, 8),   // 10 a part
               MakeEvent(Action::kAlloc, 0x4),             // 11
               MakeEvent(Action::kFreeRequested, 0x4)}});  // 12 never completes
  const auto listed = List(recording, {{0, 0, 12}});
  ASSERT_EQ(listed.size(), 13U);
  const std::vector<std::int64_t> partners{5, 4, 0, 1, 1, 0, -1, 8, 7, -1, -1, -1, 11};
  for (std::size_t i = 0; i < listed.size(); ++i) {
    EXPECT_EQ(listed[i].partner.value_or(-1), partners[i]) << i;
  }
}

TEST(EventCursor, SaysWhatIsLive) {
  const Recording recording = Record(
      {{MakeEvent(Action::kAlloc, 0x1, 100), MakeEvent(Action::kFreeCompleted, 0x2, 30),
        MakeEvent(Action::kFreeRequested, 0x1, 100), MakeEvent(Action::kFreeCompleted, 0x1, 100)}});
  std::vector<std::int64_t> live;
  for (const ListedEvent& event : List(recording, {{0, 1, 3}})) {
    live.push_back(event.live);
  }
  EXPECT_EQ(live, (std::vector<std::int64_t>{100, 100, 0}));  // 30 were there before
}

// What is before a short range is skipped, not listed.
TEST(EventCursor, AShortRangeIsAPartOfTheWhole) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    const Recording recording = test::RandomHistory(seed);
    const auto count = static_cast<std::int64_t>(recording.history->traces[0].event_count);
    const auto whole = List(recording, {{.trace = 0, .first = 0, .last = count - 1}});
    ASSERT_EQ(whole.size(), static_cast<std::size_t>(count));
    for (std::int64_t first = 0; first + 20 < count; first += 13) {
      for (const std::int64_t length : {1, 20}) {
        const auto part =
            List(recording, {{.trace = 0, .first = first, .last = first + length - 1}});
        ASSERT_EQ(part.size(), static_cast<std::size_t>(length));
        for (std::size_t i = 0; i < part.size(); ++i) {
          const ListedEvent& same = whole[static_cast<std::size_t>(first) + i];
          EXPECT_EQ(part[i].id, same.id) << first + length;
          EXPECT_EQ(part[i].live, same.live) << first + length;
          EXPECT_EQ(part[i].partner, same.partner) << first + length;
        }
      }
    }
  }
}

TEST(EventFilter, ByWhatAnEventIs) {
  Event event = MakeEvent(Action::kAlloc, 0x1000, 256);
  event.time = 5;
  EXPECT_TRUE(EventFilter{}.Matches(event));
  EXPECT_TRUE((EventFilter{.least = 256, .most = 256}.Matches(event)));
  EXPECT_FALSE((EventFilter{.least = 257}.Matches(event)));
  EXPECT_TRUE((EventFilter{.since = 5, .until = 5}.Matches(event)));
  EXPECT_FALSE((EventFilter{.until = 4}.Matches(event)));
  EXPECT_TRUE((EventFilter{.address = 0x10ff}.Matches(event)));
  EXPECT_FALSE((EventFilter{.address = 0x1100}.Matches(event)));
  EXPECT_FALSE((EventFilter{.address = 0xfff}.Matches(event)));
  // Without a time it lies in no range of times.
  event.time = kNoTime;
  EXPECT_FALSE((EventFilter{.until = 100}.Matches(event)));
  // The key of an out-of-memory event is not an address.
  event.action = Action::kOom;
  EXPECT_FALSE((EventFilter{.address = 0x1000}.Matches(event)));
  // A block of size 0 still has its address; one at the end of memory does not wrap.
  EXPECT_TRUE((EventFilter{.address = 0x7}.Matches(MakeEvent(Action::kAlloc, 0x7, 0))));
  EXPECT_FALSE((EventFilter{.address = 0x7}.Matches(MakeEvent(Action::kAlloc, UINT64_MAX, 64))));
}

}  // namespace
}  // namespace memtool
