// MEMTOOL_CAPTURE_* variables, read once when the library is loaded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtool::capture {

struct Settings {
  const char* out = "memtool.%h.%p.%r.mtcap";  // MEMTOOL_CAPTURE_OUT; see ExpandName
  bool enabled = true;                         // ENABLED=0: nothing until memtool_capture_start()
  bool native_stacks = true;                   // STACKS=off|native|python|both
  bool python_stacks = true;
  bool free_stacks = false;
  bool pinned = true;  // HOST=0: leave out pinned host memory
  // SIGNAL=USR1|USR2: makes a mark when it arrives
  int signal = 0;
  const char* cupti = nullptr;                        // CUPTI: path of the library
  std::uint32_t depth = 128;                          // DEPTH
  std::uint64_t max_bytes = std::uint64_t{1} << 30U;  // MAX_BYTES
  std::uint64_t run = 0;                              // RUN: number of the `memtool run`
};

inline constexpr std::uint32_t kMaxDepth = 256;

const Settings& GetSettings();
void ReadSettings();

// The file name for this process: %h host, %p pid, %r rank (with the dot before it left out when
// there is no rank), %% a percent sign.
void ExpandName(char* to, std::size_t size, const char* pattern);
// The n-th variant of that name, from 1: "log.mtcap", "log.2.mtcap"; other endings: "log.2".
void NumberedName(char* to, std::size_t size, const char* name, unsigned number);
// "RANK=3" from the launcher's variables, or "".
const char* RankText();

}  // namespace memtool::capture
