// How a field gets its value from a row: the address of a member, or a function.
//
// Not a std::variant: each type of row would have its own tables for visiting and copying one,
// which took an eighth of the time that a command's sources take to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "memtool/profile/answers/value.h"

namespace memtool {

enum class GetterKind : std::uint8_t {
  kNone,  // a command says what the cells are
  kInt64,
  kUint64,
  kInt32,
  kDouble,
  kBool,
  kString,
  kSharedText,
  kOptionalInt64,
  kOptionalDouble,
  kInt64Function,
  kUint64Function,
  kTextFunction,
  kValueFunction
};

// "0x7f064c000000"
std::string AddressText(std::uint64_t address);

// Functions that return text return views that stay valid as long as the answer.
template <class Row>
class Getter {
 public:
  using Kind = GetterKind;
  template <class T>
  using Function = T (*)(const Row&);

  constexpr Getter(std::monostate /*none*/) : none_{} {}                            // NOLINT
  constexpr Getter(std::int64_t Row::*of) : kind_(Kind::kInt64), int64_(of) {}      // NOLINT
  constexpr Getter(std::uint64_t Row::*of) : kind_(Kind::kUint64), uint64_(of) {}   // NOLINT
  constexpr Getter(std::int32_t Row::*of) : kind_(Kind::kInt32), int32_(of) {}      // NOLINT
  constexpr Getter(double Row::*of) : kind_(Kind::kDouble), double_(of) {}          // NOLINT
  constexpr Getter(bool Row::*of) : kind_(Kind::kBool), bool_(of) {}                // NOLINT
  constexpr Getter(std::string Row::*of) : kind_(Kind::kString), string_(of) {}     // NOLINT
  constexpr Getter(SharedText Row::*of) : kind_(Kind::kSharedText), shared_(of) {}  // NOLINT
  constexpr Getter(std::optional<std::int64_t> Row::*of)                            // NOLINT
      : kind_(Kind::kOptionalInt64), optional_int64_(of) {}
  constexpr Getter(std::optional<double> Row::*of)  // NOLINT
      : kind_(Kind::kOptionalDouble), optional_double_(of) {}
  constexpr Getter(Function<std::optional<std::int64_t>> function)  // NOLINT
      : kind_(Kind::kInt64Function), int64_function_(function) {}
  constexpr Getter(Function<std::optional<std::uint64_t>> function)  // NOLINT
      : kind_(Kind::kUint64Function), uint64_function_(function) {}
  constexpr Getter(Function<std::optional<std::string_view>> function)  // NOLINT
      : kind_(Kind::kTextFunction), text_function_(function) {}
  constexpr Getter(Function<Value> function)  // NOLINT
      : kind_(Kind::kValueFunction), value_function_(function) {}
  template <class Lambda, class = std::enable_if_t<std::is_class_v<Lambda>>>
  constexpr Getter(Lambda lambda) : Getter(+lambda) {}  // NOLINT

  [[nodiscard]] constexpr Kind kind() const { return kind_; }

  // `visit` of the member's address, of the function, or of std::monostate.
  template <class Visitor>
  decltype(auto) Visit(const Visitor& visit) const {
    switch (kind_) {
      case Kind::kInt64:
        return visit(int64_);
      case Kind::kUint64:
        return visit(uint64_);
      case Kind::kInt32:
        return visit(int32_);
      case Kind::kDouble:
        return visit(double_);
      case Kind::kBool:
        return visit(bool_);
      case Kind::kString:
        return visit(string_);
      case Kind::kSharedText:
        return visit(shared_);
      case Kind::kOptionalInt64:
        return visit(optional_int64_);
      case Kind::kOptionalDouble:
        return visit(optional_double_);
      case Kind::kInt64Function:
        return visit(int64_function_);
      case Kind::kUint64Function:
        return visit(uint64_function_);
      case Kind::kTextFunction:
        return visit(text_function_);
      case Kind::kValueFunction:
        return visit(value_function_);
      case Kind::kNone:
        break;
    }
    return visit(std::monostate());
  }

  // `is_address`: whether numbers of functions are addresses.
  [[nodiscard]] Value Of(const Row& row, bool is_address) const {
    return Visit([&row, is_address](const auto& of) -> Value {
      using T = std::decay_t<decltype(of)>;
      if constexpr (std::is_same_v<T, std::monostate>) {
        return {};
      } else if constexpr (std::is_same_v<T, Function<std::optional<std::uint64_t>>>) {
        const auto number = of(row);
        return number && is_address ? Value(AddressText(*number)) : Value(number);
      } else {
        return Value(std::invoke(of, row));
      }
    });
  }
  // The text of a row, where it is shared; else null.
  [[nodiscard]] const SharedText* SharedOf(const Row& row) const {
    return kind_ == Kind::kSharedText ? &(row.*shared_) : nullptr;
  }

 private:
  Kind kind_ = Kind::kNone;
  union {
    std::monostate none_;
    std::int64_t Row::*int64_;
    std::uint64_t Row::*uint64_;
    std::int32_t Row::*int32_;
    double Row::*double_;
    bool Row::*bool_;
    std::string Row::*string_;
    SharedText Row::*shared_;
    std::optional<std::int64_t> Row::*optional_int64_;
    std::optional<double> Row::*optional_double_;
    Function<std::optional<std::int64_t>> int64_function_;
    Function<std::optional<std::uint64_t>> uint64_function_;
    Function<std::optional<std::string_view>> text_function_;
    Function<Value> value_function_;
  };
};

}  // namespace memtool
