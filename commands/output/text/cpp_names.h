// C++ names in a readable form.
#pragma once

#include <string>
#include <string_view>

namespace memtool::commands {

// "void at::native::(anonymous namespace)::foo<float, Functor<float>>(int)" as
// "void at::native::foo<…>(int)". Names of other languages stay as they are: "<module>",
// "f.<locals>.g", "<T as Trait>::f".
std::string ShortCpp(std::string_view name);

// A function as tables and graphs show it: the last two parts of a C++ name, without arguments.
std::string NameText(std::string_view name);

}  // namespace memtool::commands
