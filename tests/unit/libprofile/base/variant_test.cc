#include "memtool/profile/base/variant.h"

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <utility>
#include <vector>

namespace memtool {
namespace {

// As where memory runs out in the middle of a copy.
struct Uncopyable {
  Uncopyable() = default;
  ~Uncopyable() = default;
  Uncopyable(const Uncopyable& /*other*/) { throw std::bad_alloc(); }
  Uncopyable(Uncopyable&&) noexcept = default;
  Uncopyable& operator=(const Uncopyable&) = default;
  Uncopyable& operator=(Uncopyable&&) noexcept = default;
};

using Tested = Variant<std::monostate, std::string, std::vector<Uncopyable>>;

TEST(Variant, SurvivesACopyThatFails) {
  const Tested one = std::vector<Uncopyable>(1);
  EXPECT_THROW(Tested{one}, std::bad_alloc);
  Tested other = std::string("kept");
  EXPECT_THROW(other = one, std::bad_alloc);
  EXPECT_EQ(std::get<std::string>(other), "kept");
}

TEST(Variant, IsCopiedAndMovedAsAVariant) {
  const Tested one = std::string("text");
  Tested copy = one;
  EXPECT_EQ(std::get<std::string>(copy), "text");
  const Tested moved = std::move(copy);
  EXPECT_EQ(std::get<1>(moved), "text");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(Tested()));
}

}  // namespace
}  // namespace memtool
