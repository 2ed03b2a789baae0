#include "output/text/cpp_names.h"

#include <gtest/gtest.h>

#include <string>

namespace memtool::commands {
namespace {

TEST(ShortCpp, TakesTemplateArgumentsOut) {
  EXPECT_EQ(ShortCpp("void at::native::foo<float, Op<int, 4> >(Tensor const&)"),
            "void at::native::foo<…>(Tensor const&)");
  EXPECT_EQ(ShortCpp("std::function<auto ()->int>::operator()() const"),
            "std::function<…>::operator()() const");
  EXPECT_EQ(ShortCpp("Vec<T>::push"), "Vec<…>::push");
}

TEST(ShortCpp, TakesUnnamedNamespacesOut) {
  EXPECT_EQ(ShortCpp("at::native::(anonymous namespace)::add_kernel(int)"),
            "at::native::add_kernel(int)");
}

TEST(ShortCpp, LeavesOthersAlone) {
  for (const std::string name :
       {"<module>", "f.<locals>.g", "<T as core::Trait>::call", "a::operator<(b)", "operator<<",
        "forward", "test[<class 'x'>]", "broken<<<", "a<b"}) {
    EXPECT_EQ(ShortCpp(name), name);
  }
}

}  // namespace
}  // namespace memtool::commands
