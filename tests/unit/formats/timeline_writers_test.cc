#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "timeline_writers/lanes.h"
#include "timeline_writers/proto_bytes.h"

namespace memtool::formats {
namespace {

using ::testing::ElementsAre;

std::vector<std::vector<std::size_t>> Items(const std::vector<std::vector<Span>>& lanes) {
  std::vector<std::vector<std::size_t>> items;
  for (const auto& lane : lanes) {
    items.emplace_back();
    for (const Span& span : lane) {
      items.back().push_back(span.item);
    }
  }
  return items;
}

TEST(PackLanes, GivesOverlappingSpansLanesOfTheirOwn) {
  EXPECT_THAT(Items(PackLanes({{0, 10, 0}, {5, 7, 2}, {2, 5, 1}, {10, 12, 3}, {3, 3, 4}})),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 2), ElementsAre(4)));
  EXPECT_TRUE(PackLanes({}).empty());
}

TEST(PackLanes, PutsTheLongestFirst) {
  EXPECT_THAT(Items(PackLanes({{1, 2, 0}, {1, 9, 1}, {1, 2, 2}})),
              ElementsAre(ElementsAre(1), ElementsAre(0), ElementsAre(2)));
}

// The examples of protobuf's own description of the wire form.
TEST(ProtoBytes, WritesTheWireForm) {
  ProtoBytes message;
  EXPECT_EQ(message.Number(1, 150).bytes(), "\x08\x96\x01");
  message.Clear();
  EXPECT_EQ(message.Bytes(2, "testing").bytes(), "\x12\x07testing");
  ProtoBytes outer;
  EXPECT_EQ(outer.Message(3, ProtoBytes().Number(1, 150)).bytes(), "\x1a\x03\x08\x96\x01");
  message.Clear();
  EXPECT_EQ(message.Signed(1, -2).bytes(), "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  message.Clear();
  EXPECT_EQ(message.Double(57, 1.0).bytes(), std::string("\xc9\x03\0\0\0\0\0\0\xf0\x3f", 10));
}

}  // namespace
}  // namespace memtool::formats
