// A value of an answer: what a field of a row, or a figure besides the rows, holds. Without wording
// and without formatting; writers, bindings and tables add their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/base/variant.h"

namespace memtool {

class Value {
 public:
  using List = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;  // keys in the order of writing
  // monostate = null: unknown, or not applicable. Text is bytes, of any encoding; that of rows
  // stays shared.
  using Data = Variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                       SharedText, List, Object>;

  Value() = default;
  ~Value() = default;
  Value(const Value& other);
  Value(Value&& other) noexcept = default;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept = default;
  Value(bool value);  // NOLINT
  template <class T, class = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>
  Value(T value) : data_(std::in_place_type<Wide<T>>, value) {}      // NOLINT
  Value(double value) : data_(std::in_place_type<double>, value) {}  // NOLINT
  Value(std::string value);                                          // NOLINT
  Value(std::string_view value);                                     // NOLINT
  Value(SharedText value);                                           // NOLINT
  Value(const char* value);                                          // NOLINT
  Value(List value);                                                 // NOLINT
  Value(Object value);                                               // NOLINT
  template <class T>
  Value(const std::optional<T>& value) {  // NOLINT
    if (value) {
      *this = Value(*value);
    }
  }

  [[nodiscard]] const Data& data() const { return data_; }
  [[nodiscard]] bool is_null() const { return data_.index() == 0; }

 private:
  // Where size_t has another width than both, too.
  template <class T>
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;

  Data data_;
};

// A figure besides the rows: its JSON key and value.
using NamedValue = std::pair<std::string_view, Value>;

}  // namespace memtool
