#include "inputs/shard.h"

#include <fmt/format.h>

#include <array>

#include "memtool/profile/base/numbers.h"

namespace memtool::commands {

namespace {

// A launcher's variables: this process, and how many there are.
struct Launcher {
  const char* index;
  const char* count;
};
constexpr std::array<Launcher, 6> kLaunchers{{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                              {"PMI_RANK", "PMI_SIZE"},
                                              {"SLURM_PROCID", "SLURM_NTASKS"},
                                              {"JAX_PROCESS_ID", "JAX_NUM_PROCESSES"},
                                              {"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"},
                                              {"RANK", "WORLD_SIZE"}}};
constexpr std::size_t kMaxShards = 10'000'000;

Result<Shard> Checked(std::optional<std::size_t> index, std::optional<std::size_t> count,
                      std::string_view what) {
  if (!index || !count || *count == 0 || *count > kMaxShards || *index >= *count) {
    return Fail(ErrorCode::kUsage, fmt::format("--shard: {} is no part of a whole", what),
                "I/N with I from 0 to N - 1, or auto");
  }
  return Shard{.index = *index, .count = *count};
}

}  // namespace

Result<Shard> ParseShard(std::string_view text, const char* (*get)(const char*)) {
  if (text != "auto") {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
      return Checked({}, {}, fmt::format("'{}'", text));
    }
    return Checked(ParseNumber<std::size_t>(text.substr(0, slash)),
                   ParseNumber<std::size_t>(text.substr(slash + 1)), fmt::format("'{}'", text));
  }
  for (const Launcher& launcher : kLaunchers) {
    const char* const index = get(launcher.index);
    const char* const count = get(launcher.count);
    if (index != nullptr && count != nullptr) {
      auto shard =
          Checked(ParseNumber<std::size_t>(index), ParseNumber<std::size_t>(count),
                  fmt::format("{}={} of {}={}", launcher.index, index, launcher.count, count));
      if (shard) {
        shard->from = launcher.index;
      }
      return shard;
    }
  }
  return Fail(ErrorCode::kUsage, "--shard auto: no launcher says which part this process is",
              "set by srun, mpirun, Kubernetes' indexed jobs and others; or give I/N");
}

}  // namespace memtool::commands
