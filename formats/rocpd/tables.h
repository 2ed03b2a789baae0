// What a rocpd database says about memory, as rows: allocations and frees with their call stacks,
// and the API calls and roctx ranges around them. One database may hold several processes, each
// in tables of its own suffix.
// Source: rocpd_tables.sql of schemas 3 and 4, and the writers of rocprofv3 and rocprof-sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/formats/limits.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/row_vector.h"
#include "memtool/profile/model/recording_builder.h"
#include "sqlite/database_file.h"
#include "support/code_stacks.h"
#include "support/history/rocm_memory.h"

namespace memtool::formats::rocpd {

enum class Type : std::uint8_t { kAlloc, kFree, kRealloc, kReclaim };

// A row of rocpd_memory_allocate. An allocation is there from its end on, memory is gone when its
// free begins: so an address that two threads pass on is never live twice.
struct MemoryRow {
  std::int64_t time = 0;
  std::uint64_t address = 0;  // of scratch memory, which has none, the queue
  std::int64_t size = 0;
  StackId stack;            // where it was recorded
  std::uint32_t place = 0;  // of Tables::origins, and the type in its lowest bits

  static constexpr unsigned kTypeBits = 2;
  static constexpr std::uint32_t Place(std::uint32_t origin, Type type) {
    return origin << kTypeBits | static_cast<std::uint32_t>(type);
  }
  [[nodiscard]] std::uint32_t origin() const { return place >> kTypeBits; }
  [[nodiscard]] Type type() const { return static_cast<Type>(place & ((1U << kTypeBits) - 1)); }
};
static_assert(sizeof(MemoryRow) == 32);

// Where memory rows come from.
struct Source {
  std::uint32_t part = 0;
  std::int64_t process = 0;  // rocpd_info_process
  std::int64_t agent = -1;   // rocpd_info_agent; -1: none
  rocm::Level level = rocm::Level::kReal;
  [[nodiscard]] auto KeyFields() const { return std::tuple(part, process, agent, level); }
  friend bool operator==(const Source&, const Source&) = default;
};

struct Process {
  std::int64_t pid = 0;
  std::string command;
};

struct Range {  // of roctx
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t name = 0;
};

// What many rows of memory share.
struct Origin {
  std::uint32_t source = 0;  // row of Tables::sources
  std::uint32_t thread = 0;  // counted over all processes
  std::uint32_t stream = 0;
};

struct Tables {
  std::string version;  // of the schema
  std::string host;
  RowVector<MemoryRow> memory;  // by time
  std::vector<Source> sources;
  std::vector<Origin> origins;
  KeyMap<std::pair<std::uint32_t, std::int64_t>, rocm::Agent> agents;  // by part and id
  KeyMap<std::pair<std::uint32_t, std::int64_t>, Process> processes;   // likewise
  std::uint32_t thread_count = 0;
  // Calls and ranges within which memory came or went. CodeSpan::thread is Origin::thread.
  RowVector<CodeSpan> spans;
  std::vector<std::string> names;  // of spans and ranges
  std::vector<bool> is_range;      // per name: a range of roctx, not a call
  std::vector<Range> ranges;       // by begin
  bool has_call_stacks = false;
  std::uint64_t ranges_left_out = 0;
  std::uint64_t deep_frames = 0;
  std::uint64_t damaged_stacks = 0;
  std::uint64_t damaged_rows = 0;
  std::uint64_t null_frees = 0;
};

// Errors: kUnsupported when it is no rocpd database or was recorded without memory; kMalformed,
// kLimit.
Result<Tables> ReadTables(sqlite::DatabaseFile& file, RecordingBuilder& builder,
                          const Limits& limits);

}  // namespace memtool::formats::rocpd
