// What is worked out when it is first asked for.
#pragma once

#include <mutex>
#include <optional>

namespace memtool {

// Any number of threads may ask: one works it out, the others wait. What `make` throws reaches who
// asked, and the next one tries again.
template <class T>
class Once {
 public:
  template <class Make>
  const T& Get(const Make& make) {
    std::call_once(once_, [&] { value_.emplace(make()); });
    return *value_;
  }

 private:
  std::once_flag once_{};
  std::optional<T> value_{};
};

}  // namespace memtool
