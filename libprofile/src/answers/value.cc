#include "memtool/profile/answers/value.h"

#include <variant>

namespace memtool {

Value::Value(const Value& other) = default;
Value& Value::operator=(const Value& other) = default;

Value::Value(bool value) : data_(value) {}
Value::Value(std::string value) : data_(std::move(value)) {}
Value::Value(std::string_view value) : data_(std::string(value)) {}
Value::Value(SharedText value) : data_(std::move(value)) {}
Value::Value(const char* value) : data_(std::string(value)) {}
Value::Value(List value) : data_(std::move(value)) {}
Value::Value(Object value) : data_(std::move(value)) {}

}  // namespace memtool
