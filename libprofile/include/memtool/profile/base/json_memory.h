// Memory for RapidJSON, whose own allocator hands out null pointers and whose buffers do not look
// at them. Throws std::bad_alloc instead. (An allocator in the sense of RapidJSON, whose header
// this one does not need.)
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace memtool {

struct JsonMemory {
  // The names are RapidJSON's.
  static constexpr bool kNeedFree = true;

  static void* Malloc(std::size_t size) { return Realloc(nullptr, 0, size); }
  static void* Realloc(void* memory, std::size_t /*old_size*/, std::size_t size) {
    if (size == 0) {
      std::free(memory);
      return nullptr;
    }
    void* const moved = std::realloc(memory, size);
    if (moved == nullptr) {
      throw std::bad_alloc();
    }
    return moved;
  }
  static void Free(void* memory) { std::free(memory); }
  friend bool operator==(const JsonMemory&, const JsonMemory&) = default;
};

}  // namespace memtool
