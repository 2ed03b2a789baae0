// Memory without malloc, which may be the program's own, and memory that may not be there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtool::capture {

inline constexpr std::uintptr_t kMinPage = 4096;  // the smallest there is

// Zeroed pages, or nullptr. Pages that are never touched cost nothing.
void* MapPages(std::size_t bytes);

// Whether the 8 bytes at `at`, a multiple of 8, can be read now. A system call: some 100 ns.
bool CanRead(std::uintptr_t at);

// A range of addresses.
struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  [[nodiscard]] bool Holds(std::uintptr_t at, std::size_t size) const {
    return at >= begin && at <= end && size <= end - at;
  }
};

}  // namespace memtool::capture
