// libFuzzer's program for every target: MEMTOOL_FUZZ_TARGET in the environment names the one to
// run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const char* const name = std::getenv("MEMTOOL_FUZZ_TARGET");
  if (name == nullptr) {
    std::fputs("MEMTOOL_FUZZ_TARGET names no target\n", stderr);
    std::exit(2);
  }
  return memtool::fuzz::RunTarget(name, data, size);
}
