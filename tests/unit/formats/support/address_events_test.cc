#include "support/history/address_events.h"

#include <gtest/gtest.h>

namespace memtool::formats {
namespace {

Event At(std::uint8_t place, std::uint64_t address, std::int64_t size, std::int64_t time) {
  return {.key = address, .size = size, .time = time, .domain = place, .action = Action::kAlloc};
}

TEST(AddressEvents, AFreeTakesPlaceAndSizeOfItsAllocation) {
  AddressEvents events;
  const auto host = events.AddPlace({.trace = "host", .domain = "pinned"});
  const auto device = events.AddPlace({.trace = "0", .domain = "device", .device = 0});
  events.AddPlace({.trace = "1", .domain = "device", .device = 1});
  events.Allocate(0, At(*host, 16, 100, 1), LabelSetId(0U));
  events.Allocate(0, At(*device, 32, 200, 2), LabelSetId(0U));
  EXPECT_TRUE(events.Free(0, At(0, 32, 0, 3), {}, {}, LabelSetId(0U)));
  EXPECT_FALSE(events.Free(1, At(0, 16, 0, 4), {}, {}, LabelSetId(0U))) << "of another space";
  EXPECT_TRUE(events.Free(1, At(0, 16, 0, 5), 7, device, LabelSetId(0U)));
  const History history = std::move(events).Finish(Clock::kRelative);
  ASSERT_EQ(history.traces.size(), 2U) << "a place without events is none";
  EXPECT_EQ(history.traces[0].name, "0") << "devices come first";
  ASSERT_EQ(history.traces[0].event_count, 3U);
  EXPECT_EQ(history.events[1].size, 200);
  EXPECT_EQ(history.events[1].action, Action::kFreeCompleted);
  EXPECT_EQ(history.events[2].size, 7);
  EXPECT_EQ(history.domains[history.events[3].domain].name, "pinned");
}

TEST(AddressEvents, WhatIsAllocatedAgainEndedBefore) {
  AddressEvents events;
  const auto place = events.AddPlace({.trace = "0", .domain = "device", .device = 0});
  events.Allocate(0, At(*place, 16, 100, 1), LabelSetId(0U));
  events.Allocate(0, At(*place, 16, 300, 2), LabelSetId(0U));
  events.Free(0, At(*place, 16, 0, 3), 299, place, LabelSetId(0U));
  EXPECT_EQ(events.reopened(), 1U);
  EXPECT_EQ(events.changed_sizes(), 1U);
  const History history = std::move(events).Finish(Clock::kRelative);
  ASSERT_EQ(history.events.size(), 4U);
  EXPECT_EQ(history.events[1].action, Action::kFreeCompleted);
  EXPECT_EQ(history.events[1].size, 100);
  EXPECT_EQ(history.events[1].time, 2);
}

TEST(AddressEvents, HasAsManyPlacesAsEventsCanName) {
  AddressEvents events;
  for (int i = 0; i < 250; ++i) {
    ASSERT_TRUE(events.AddPlace({.trace = "0", .domain = "device"}));
  }
  EXPECT_FALSE(events.AddPlace({.trace = "0", .domain = "device"}));
  EXPECT_EQ(events.StreamOf(5), 1U);
  EXPECT_EQ(events.StreamOf(0), 0U);
  EXPECT_EQ(events.StreamOf(5), 1U);
}

}  // namespace
}  // namespace memtool::formats
