// What an Nsight Systems export (.sqlite) says about memory, as rows: memory events with the calls
// that made them, call chains, NVTX ranges, devices and processes.
// Source: the schema in the user guide, "SQLite Schema Reference", and tables of real exports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "memtool/formats/limits.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/result.h"
#include "sqlite/database_file.h"

namespace memtool::formats::nsys {

using sqlite::DatabaseFile;
using sqlite::TableScan;

// The numbers of ENUM_CUDA_MEM_KIND.
enum class MemKind : std::uint8_t {
  kPageable,
  kPinned,
  kDevice,
  kArray,
  kManaged,
  kDeviceStatic,
  kManagedStatic,
  kUnknown,
};

// A row of CUDA_GPU_MEMORY_USAGE_EVENTS. Times are nanoseconds after the start of the capture.
struct MemoryRow {
  std::int64_t time = 0;
  std::int64_t process = 0;  // globalPid and globalTid without the thread
  std::int64_t device = -1;
  std::uint64_t address = 0;
  std::optional<std::int64_t> bytes;
  MemKind kind = MemKind::kUnknown;
  bool frees = false;
  std::uint32_t name = 0;  // of a static variable: row of Export::names
  std::uint64_t stream = 0;
  std::uint64_t pool = 0;  // address of the memory pool
  std::int64_t correlation = -1;
  // From the call with its correlation:
  std::int64_t thread = -1;     // globalTid
  std::int64_t call_name = -1;  // StringIds
  std::int64_t chain = -1;      // CUDA_CALLCHAINS
};

struct ChainFrame {
  std::int64_t depth = 0;  // 0 = innermost
  std::int64_t symbol = -1;
  std::int64_t module = -1;
  std::uint64_t address = 0;
};

struct RangeRow {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;  // none: a mark, or a range that never ended
  std::int64_t thread = -1;
  std::int64_t text_id = -1;  // StringIds; else `text`
  std::uint32_t text = 0;     // row of Export::names
  bool nests = false;         // pushed and popped
};

struct Gpu {
  std::string name;
  std::optional<std::int64_t> memory;  // bytes
};

struct Export {
  std::vector<MemoryRow> memory;  // by time; of equal ones in the file's order
  KeyMap<std::int64_t, std::vector<ChainFrame>> chains;  // innermost first
  std::vector<RangeRow> ranges;                          // by begin
  std::uint64_t ranges_left_out = 0;
  KeyMap<std::int64_t, std::string> strings;  // StringIds, as far as used
  std::vector<std::string> names{""};
  std::map<std::int64_t, Gpu> gpus;               // by CUDA's ordinal
  std::map<std::int64_t, std::string> processes;  // names of those that used memory
  std::optional<std::int64_t> utc;                // start of the capture, ns since 1970
  std::string version;                            // of the schema
  std::string product;                            // of Nsight Systems
  std::uint64_t damaged_rows = 0;                 // of memory events: without time, address or kind
};

// The operating system's number of a process.
constexpr std::int64_t ToPid(std::int64_t process) {
  return process & 0xffffff;
}

// Errors: kUnsupported when it is no export of Nsight Systems or was recorded without memory
// events; kMalformed, kLimit.
Result<Export> ReadExport(DatabaseFile& file, const Limits& limits);

}  // namespace memtool::formats::nsys
