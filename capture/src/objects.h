// The loaded objects, as one sorted table of their code: what addresses mean, and where the unwind
// tables are. Refreshed when the dynamic linker's counters say that something came or went.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base.h"
#include "elf_image.h"

namespace memtool::capture {

struct Object {
  std::uintptr_t start = 0;  // of one executable segment
  std::uintptr_t size = 0;
  std::uintptr_t file_offset = 0;
  std::uintptr_t bias = 0;
  const unsigned char* eh_frame_hdr = nullptr;
  const char* path = nullptr;
  BuildId build_id;
  std::uint64_t identity = 0;  // of path and build id: the same place may hold another object later
  std::uint32_t id = 0;        // of the mapping in the log, given once per appearance
};

inline constexpr std::size_t kMostObjects = 4096;

// Holds the table while it is looked at.
class Objects {
 public:
  Objects();
  ~Objects();
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  // True when the table changed.
  bool Refresh();
  [[nodiscard]] const Object* Find(std::uintptr_t address) const;
  [[nodiscard]] const Object* begin() const;
  [[nodiscard]] const Object* end() const;

  // Goes up with every change that took an object away: rules cached before are void.
  static std::uint32_t UnloadCount();
  // Goes up with every change; 0 = never looked.
  static std::uint32_t Version();
  static void ResetLock();  // in a forked child
};

}  // namespace memtool::capture
