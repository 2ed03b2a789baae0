// The loaded objects, as one sorted table of their code: what addresses mean, and where the unwind
// tables are. Refreshed when the dynamic linker's counters say that something came or went.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/lock.h"
#include "objects/elf_image.h"

namespace memtool::capture {

// Everything but the unwind table is the shim's own copy: the linker's is unloaded with the object.
struct Object {
  std::uintptr_t start = 0;  // of one executable segment
  std::uintptr_t size = 0;
  std::uintptr_t file_offset = 0;
  std::uintptr_t bias = 0;
  std::uintptr_t eh_frame_hdr = 0;  // in the object: see Objects::LookAt
  AddressRange tables;              // the segment of that, which all unwind tables must be in
  const char* path = nullptr;       // in the table's text
  std::uint32_t build_id_size = 0;
  unsigned char build_id[64] = {};  // longer ones are cut
  std::uint64_t identity = 0;  // of path and build id: the same place may hold another object later
  std::uint32_t id = 0;        // of the mapping in the log, given once per appearance
};

inline constexpr std::size_t kMaxObjects = 4096;
inline constexpr std::uint32_t kMaxMappingIds = 65536;  // beyond this none is written

// dl_iterate_phdr with the table's lock held: another thread's fork waits for the end of every such
// call by the shim, so that no child finds the linker's lock held by one of them.
int IterateObjects(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data);

// The table. Each call takes the lock: no call may be made from inside another.
class Objects {
 public:
  // Checks the linker's counters, reads its list anew when they have changed, and returns the
  // version of the table, which goes up with every change; 0 = it could not be read.
  static std::uint32_t Refresh();
  static std::uint32_t Version();  // without asking

  // Calls `look` with the object that holds `address`, or nullptr, while nothing can be unloaded:
  // its unwind table may be read. `look` must not call the linker. False when there is no table.
  using Look = void (*)(const Object* object, std::uintptr_t address, void* data);
  static bool LookAt(std::uintptr_t address, Look look, void* data);

  // How many objects found no room in the table (the most at any time), and how many appearances of
  // objects got no id.
  static std::uint32_t LeftOut();

  // The mapping ids of addresses, 0 where there is no object.
  static void FindIds(const std::uintptr_t* addresses, std::uint32_t count, std::uint32_t* ids);

  // The first object that starts after `start`; its path in `text` of `size` bytes. False after the
  // last one.
  static bool CopyAfter(std::uintptr_t start, Object* object, char* text, std::size_t size);

  // Before fork(), with the lock held: waits until no thread changes the linker's list. A thread
  // that begins to change it in the moment before the fork still leaves the child a list that
  // cannot be walked.
  static void WaitForLinker();

  // Around fork(), and around work that must not overlap with one.
  static Lock& TableLock();
};

}  // namespace memtool::capture
