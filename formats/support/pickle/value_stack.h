// The operand stack of a data reader: values, and the places where containers were begun.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "support/data_value.h"

namespace memtool::formats {

class ValueStack {
 public:
  // `most`: values at a time; more is ReadError kLimit.
  explicit ValueStack(std::size_t most) : most_(most) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Value& top() { return values_[size_ - 1]; }
  Value& operator[](std::size_t at) { return values_[at]; }
  [[nodiscard]] std::span<const Value> From(std::size_t begin) const {
    return std::span(values_).subspan(begin, size_ - begin);
  }

  // Whether it is inlined must not depend on what else is in a unit: it runs per opcode.
  [[gnu::always_inline]] void Push(const Value& value) {
    Reserve(1);
    values_[size_++] = value;
  }
  // Room for `count` more; Room() then gives it, and Grow() counts in what was written to it.
  [[gnu::always_inline]] void Reserve(std::size_t count) {
    if (size_ + count > values_.size()) {
      Enlarge(count);
    }
  }
  [[nodiscard]] std::span<Value> Room(std::size_t count) {
    return std::span(values_).subspan(size_, count);
  }
  void Grow(std::size_t count) { size_ += count; }
  void Truncate(std::size_t size) { size_ = size; }

 private:
  void Enlarge(std::size_t count);

  std::vector<Value> values_;  // as many as there is room for
  std::size_t size_ = 0;
  std::size_t most_;
};

}  // namespace memtool::formats
