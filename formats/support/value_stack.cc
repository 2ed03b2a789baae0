#include "support/value_stack.h"

#include <algorithm>

#include "support/read_error.h"

namespace memtool::formats {

namespace {
constexpr std::size_t kFirstCapacity = 4096;
}  // namespace

void ValueStack::Enlarge(std::size_t count) {
  if (size_ + count > most_) {
    throw ReadError(Error{.code = ErrorCode::kLimit,
                          .input = {},
                          .message = "a container longer than the limit for one record",
                          .hint = "lift it with --limit record-bytes=SIZE"});
  }
  const std::size_t larger = std::max({size_ + count, capacity_ * 2, kFirstCapacity});
  auto moved = std::make_unique_for_overwrite<Value[]>(larger);
  std::copy_n(values_.get(), size_, moved.get());
  values_ = std::move(moved);
  capacity_ = larger;
}

}  // namespace memtool::formats
