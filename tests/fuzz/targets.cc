#include "targets.h"

#include <algorithm>
#include <array>

namespace memtool::fuzz {

namespace {

struct NamedTarget {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

constexpr auto kTargets = std::to_array<NamedTarget>({
    {"capture_books", FuzzCaptureBooks},
#ifdef MEMTOOL_FUZZ_SHIM
    {"capture_cfi", FuzzCaptureCfi},
    {"capture_elf", FuzzCaptureElf},
#endif
    {"capture_log", FuzzCaptureLog},
#ifdef MEMTOOL_FUZZ_SHIM
    {"capture_python", FuzzCapturePython},
#endif
    {"commands", FuzzCommands},
    {"history", FuzzHistory},
    {"memtool_file", FuzzMemtoolFile},
    {"oom", FuzzOom},
    {"pipeline", FuzzPipeline},
    {"pprof", FuzzPprof},
    {"snapshot", FuzzSnapshot},
    {"words", FuzzWords},
    {"writers", FuzzWriters},
});

}  // namespace

int RunTarget(std::string_view name, const std::uint8_t* data, std::size_t size) {
  const auto* found =
      std::find_if(kTargets.begin(), kTargets.end(),
                   [name](const NamedTarget& target) { return target.name == name; });
  return found == kTargets.end() ? FuzzReader(name, data, size) : found->run(data, size);
}

}  // namespace memtool::fuzz
