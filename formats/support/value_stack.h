// The operand stack of a data reader: values, and the places where containers were begun.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "support/data_value.h"

namespace memtool::formats {

class ValueStack {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Value& top() { return values_[size_ - 1]; }
  Value& operator[](std::size_t at) { return values_[at]; }
  [[nodiscard]] std::span<const Value> From(std::size_t begin) const {
    return {values_.get() + begin, size_ - begin};
  }

  void Push(const Value& value) {
    if (size_ == capacity_) {
      Reserve(1);
    }
    values_[size_++] = value;
  }
  // Room for `count` more; Room() then gives it, and Grow() counts in what was written to it.
  void Reserve(std::size_t count) {
    if (size_ + count > capacity_) {
      const std::size_t larger = std::max({size_ + count, capacity_ * 2, std::size_t{4096}});
      auto moved = std::make_unique_for_overwrite<Value[]>(larger);
      std::copy_n(values_.get(), size_, moved.get());
      values_ = std::move(moved);
      capacity_ = larger;
    }
  }
  [[nodiscard]] std::span<Value> Room(std::size_t count) { return {values_.get() + size_, count}; }
  void Grow(std::size_t count) { size_ += count; }
  void Truncate(std::size_t size) { size_ = size; }

 private:
  std::unique_ptr<Value[]> values_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace memtool::formats
