// What the control groups of this process may hold: those of containers, of Slurm's and systemd's
// scopes, of either version.
#pragma once

#include <cstdint>
#include <optional>

namespace memtool::commands {

// Bytes, the least of the process's own group and those above it; none where nothing limits it.
std::optional<std::uint64_t> CgroupLimit();

}  // namespace memtool::commands
