// Values of answers as Python objects.
#pragma once

#include <pybind11/pybind11.h>

#include <string_view>

#include "memtool/profile/answers/value.h"

namespace memtool::python {

// Text as JSON has it: what is not UTF-8 is U+FFFD.
pybind11::str ToStr(std::string_view bytes);
pybind11::object ToObject(const Value& value);

}  // namespace memtool::python
