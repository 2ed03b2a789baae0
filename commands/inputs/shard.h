// Which part of a list of inputs one worker of many takes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

struct Shard {
  std::size_t index = 0;  // from 0
  std::size_t count = 1;
  std::string from;  // the environment variable used, for `auto`

  [[nodiscard]] bool Has(std::size_t position) const { return position % count == index; }
};

// "I/N" with I from 0, or "auto": what Slurm, Open MPI, PMI, JAX and Kubernetes say of the process
// in its environment (`get` = getenv). Errors: kUsage.
Result<Shard> ParseShard(std::string_view text, const char* (*get)(const char*));

}  // namespace memtool::commands
