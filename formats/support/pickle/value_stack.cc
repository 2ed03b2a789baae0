#include "support/pickle/value_stack.h"

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
                          .hint = "lift it with --max record-bytes=SIZE"});
  }
  values_.resize(std::max({size_ + count, values_.size() * 2, kFirstCapacity}));
}

}  // namespace memtool::formats
