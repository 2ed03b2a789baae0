// How far reading goes ahead of what is looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace memtool::commands {

// Of what takes little memory: so many for each thread, and none waits to be told of the next.
inline constexpr std::size_t kMaxAheadPerThread = 4;

// As many inputs as there are threads, since each takes memory; of small ones more. Sizes in bytes
// of the files, 0 = unknown.
class PrefetchWindow {
 public:
  explicit PrefetchWindow(std::size_t jobs) : jobs_(jobs) {}

  [[nodiscard]] bool Takes(std::uint64_t size) const {
    return sizes_.size() < jobs_ ||
           (jobs_ > 1 && size > 0 && sizes_.size() < kMaxAheadPerThread * jobs_ &&
            sum_ + size <= kSmall);
  }
  void Put(std::uint64_t size) {
    sum_ += size;
    sizes_.push_back(size);
  }
  void Take() {
    sum_ -= sizes_.front();
    sizes_.pop_front();
  }

 private:
  static constexpr std::uint64_t kSmall = std::uint64_t{32} << 20U;  // bytes of all of them

  std::size_t jobs_;
  std::uint64_t sum_ = 0;
  std::deque<std::uint64_t> sizes_;
};

}  // namespace memtool::commands
