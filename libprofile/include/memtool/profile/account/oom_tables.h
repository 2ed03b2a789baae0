// The tables that XLA prints with an out-of-memory message: what its compiler planned for a
// program, and what its allocator held. Sizes in bytes, rounded as the message rounds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/account/oom.h"
#include "memtool/profile/account/oom_number.h"

namespace memtool {

// A buffer of a compiled program, as a table lists it. An empty text was not reported.
struct OomBuffer {
  OomNumber size{};
  bool argument = false;                // handed to the program, not made by it
  std::string name{};                   // "dot_general"; "fusion"; "(argument)"
  std::optional<OomNumber> unpadded{};  // what its shape needs
  std::optional<OomNumber> padding{};   // what the layout adds
  double expansion = 0;                 // size / unpadded, as the table has it; 0 = not reported
  std::string op_name{};                // "jit(f)/jit(main)/dot_general"
  std::string file{};                   // where the user's code asked for it
  std::int64_t line = 0;                // 0 = not reported
  std::string instruction{};            // XLA's label: "fusion", "copy.4 = s32[8]{0} copy(…)"
  std::string shape{};                  // "f32[32,4096,4096]{1,2,0:T(8,128)}"
  std::string allocation{};             // "HLO temp"
};

// What XLA's compiler planned. Parts that a table does not have are absent.
struct OomProgram {
  std::uint64_t first_line = 0;  // of the log, from 1
  std::string space{};           // "hbm", "vmem"; empty on GPUs and CPUs
  std::optional<OomNumber> total{};
  std::optional<OomNumber> reserved{};  // by the system, outside the program
  std::optional<OomNumber> arguments{};
  std::optional<OomNumber> heap{};  // what other programs and arrays hold already
  std::optional<OomNumber> constants{};
  std::optional<OomNumber> outputs{};
  std::optional<OomNumber> temporaries{};
  std::optional<OomNumber> program{};        // of a TPU: all that the program itself needs,
  std::optional<OomNumber> globals{};        // of it,
  std::optional<OomNumber> scoped{};         // of it,
  std::optional<OomNumber> overlays{};       // of it
  std::optional<OomNumber> fragmentation{};  // of the temporaries
  std::optional<OomNumber> unpadded{};       // the temporaries without padding,
  std::optional<OomNumber> padded{};         // and with it
  // Of a TPU's runtime: the device's memory, and what was allocated of it.
  std::optional<OomNumber> capacity{};
  std::optional<OomNumber> allocated{};
  std::optional<OomNumber> largest_free{};
  std::vector<OomBuffer> buffers{};  // as listed: the largest ones
  std::uint64_t damaged = 0;         // rows that could not be read
  std::uint64_t left_out = 0;        // buffers beyond the limit
};

struct OomChunk {
  std::uint64_t address = 0;
  std::int64_t size = 0;
  std::uint32_t name = 0;    // index into OomPool::names
  std::uint32_t region = 0;  // which one of the pool's, in their order
  bool in_use = false;
};

// Chunks in use of one size, where only their number is reported, or what one operation holds.
struct OomSizeClass {
  std::int64_t count = 0;
  std::int64_t size = 0;   // of each
  std::uint32_t name = 0;  // index into OomPool::names
};

// A dump of the allocator of XLA and TensorFlow (BFC).
struct OomPool {
  std::uint64_t first_line = 0;
  std::string allocator{};                        // "GPU_0_bfc"
  std::vector<std::string> names{std::string()};  // of operations or tags; [0] = not reported
  std::vector<OomChunk> chunks{};
  std::uint32_t regions = 0;
  std::vector<OomSizeClass> classes{};
  std::optional<OomNumber> limit{};
  std::optional<OomNumber> in_use{};
  std::optional<OomNumber> peak{};
  std::optional<OomNumber> reserved{};  // taken from the driver so far
  std::optional<OomNumber> largest_free{};
  std::uint64_t damaged = 0;
  std::uint64_t left_out = 0;  // chunks beyond the limit
};

// "Can't reduce memory use below GOAL by rematerialization; only reduced to REACHED".
struct OomRemat {
  std::uint64_t line = 0;
  OomNumber goal{};
  OomNumber reached{};
};

// What a program needs, in parts: "reserved", "heap", "arguments", "constants", "outputs",
// "globals", "scoped", "temporaries", "overlays", "program" where it is not divided, and "rest" or
// "rounding". None where no total is reported.
std::optional<MemoryBreakdown> MakeBreakdown(const OomProgram& program);

// The same buffers of a program: one operation, shape and place.
struct OomBufferGroup {
  const OomBuffer* first = nullptr;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t precision = 0;
  std::int64_t padding = 0;
};
// The largest first. Valid as long as `program` is.
std::vector<OomBufferGroup> MakeGroups(const OomProgram& program);

// How a TPU lays out the two innermost dimensions of a shape with a layout,
// "s32[8388608,8,4]{2,1,0:T(8,128)}": 8 and 4, in tiles of 8 and 128. None for other texts.
struct OomTiles {
  std::int64_t second = 0, minor = 0;  // the dimensions
  std::int64_t tile_second = 0, tile_minor = 0;
};
std::optional<OomTiles> ParseTiles(std::string_view shape);

}  // namespace memtool
