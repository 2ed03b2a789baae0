#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memtool/formats/reader.h"
#include "memtool/formats/writer.h"
#include "registered.h"

namespace memtool::formats {
namespace {

using testing::ElementsAreArray;

template <class Kind>
std::vector<std::string_view> Names(std::span<const Kind* const> all) {
  std::vector<std::string_view> names;
  for (const Kind* one : all) {
    names.push_back(one->name());
  }
  return names;
}

// The names in the table are what a build without a format says of it.
TEST(Registry, NamesAreThoseOfTheTable) {
  EXPECT_THAT(Names(Readers()), ElementsAreArray(kReaderNames));
  EXPECT_THAT(Names(Writers()), ElementsAreArray(kWriterNames));
}

}  // namespace
}  // namespace memtool::formats
