#include "values.h"

#include <cmath>
#include <string>

#include "memtool/profile/base/escape.h"

namespace py = pybind11;

namespace memtool::python {

namespace {

// Lists and objects nest as deep as their declarations, never as deep as an input.
struct MakeObject {
  py::object operator()(std::monostate /*null*/) const { return py::none(); }
  py::object operator()(bool value) const { return py::bool_(value); }
  py::object operator()(std::int64_t value) const { return py::int_(value); }
  py::object operator()(std::uint64_t value) const { return py::int_(value); }
  py::object operator()(double value) const {
    return std::isfinite(value) ? py::object(py::float_(value)) : py::object(py::none());
  }
  py::object operator()(const std::string& text) const { return ToStr(text); }
  py::object operator()(const SharedText& text) const { return ToStr(text.str()); }
  py::object operator()(const Value::List& list) const {
    py::list made;
    for (const Value& value : list) {
      made.append(ToObject(value));
    }
    return made;
  }
  py::object operator()(const Value::Object& object) const {
    py::dict made;
    for (const auto& [key, value] : object) {
      made[ToStr(key)] = ToObject(value);
    }
    return made;
  }
};

}  // namespace

py::str ToStr(std::string_view bytes) {
  const std::string text = IsPlain(bytes) ? std::string(bytes) : ToUtf8(bytes);
  return py::str(text.data(), text.size());
}

py::object ToObject(const Value& value) {
  return std::visit(MakeObject{}, value.data());
}

}  // namespace memtool::python
