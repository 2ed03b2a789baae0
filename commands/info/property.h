// A line of `memtool info`.
#pragma once

#include <string>

#include "memtool/profile/answers/field.h"

namespace memtool::commands {

struct Property {
  std::string input;
  std::string property;
  std::string value;
};

inline constexpr auto kPropertyFields = Fields<Property>({
    {"input", "", Unit::kText, &Property::input, "the file"},
    {"property", "PROPERTY", Unit::kText, &Property::property, "what is said about it", kFixed},
    {"value", "VALUE", Unit::kText, &Property::value, "what it is", kFixed | kWrap},
});

}  // namespace memtool::commands
