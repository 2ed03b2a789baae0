#include "memtool/profile/base/shared_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace memtool {
namespace {

class JoinedText : public testing::Test {
 protected:
  SharedText Join(const std::vector<std::string>& names) {
    std::vector<StringId> ids;
    for (const std::string& name : names) {
      ids.push_back(table_->Intern(name));
    }
    return SharedText::Join(table_, ids);
  }

  std::shared_ptr<StringTable> table_ = std::make_shared<StringTable>();
};

std::string Plainly(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (&name == names.data() ? "" : ";") + name;
  }
  return text;
}

// Names that begin alike, are empty, or hold what stands between them.
const std::vector<std::vector<std::string>> kStacks{{"a"},
                                                    {"a", "b"},
                                                    {"a", "b", "c"},
                                                    {"a", "bb"},
                                                    {"ab"},
                                                    {"a;b"},
                                                    {"a", ""},
                                                    {"", "a"},
                                                    {"", ""},
                                                    {"a;", "b"},
                                                    {"a", ";b"},
                                                    {"b"},
                                                    {"a", "b;", "c"},
                                                    {"a", "b", ";c"},
                                                    {"ab", "c"},
                                                    {"a", "\xff"},
                                                    {"a", "b", "c", "d"}};

TEST_F(JoinedText, ReadsAndComparesAsItsText) {
  for (const auto& one : kStacks) {
    EXPECT_EQ(Join(one).str(), Plainly(one));
    EXPECT_EQ(Join(one).view(), Plainly(one));
    for (const auto& other : kStacks) {
      const auto order = Plainly(one) <=> Plainly(other);
      EXPECT_TRUE((Join(one) <=> Join(other)) == order)
          << Plainly(one) << " and " << Plainly(other);
      EXPECT_TRUE((Join(one) <=> SharedText(Plainly(other))) == order);
      EXPECT_TRUE((SharedText(Plainly(one)) <=> Join(other)) == order);
      EXPECT_TRUE((SharedText::CompareHeads(Join(one), Join(other)) <=> 0) == order);
      EXPECT_EQ(Join(one) == Join(other), Plainly(one) == Plainly(other));
    }
  }
}

TEST_F(JoinedText, OutlivesWhoeverJoinedIt) {
  const SharedText text = Join({"outer", "inner"});
  table_->Intern(std::string(1 << 20, 'x'));  // its table grows
  table_.reset();
  EXPECT_EQ(text.view(), "outer;inner");
  EXPECT_EQ(text.view().data(), text.view().data()) << "put together once";
}

TEST_F(JoinedText, HeadsAreComparedAsFarAsTheyGo) {
  const std::string alike(4096, 'f');
  const std::string shorter = alike.substr(9);
  EXPECT_TRUE(SharedText::CompareHeads(Join({alike, "a"}), Join({alike, "b"})) == 0);
  EXPECT_TRUE(Join({alike, "a"}) < Join({alike, "b"}));
  EXPECT_TRUE(SharedText::CompareHeads(Join({shorter, "a"}), Join({shorter, "b"})) < 0);
}

}  // namespace
}  // namespace memtool
