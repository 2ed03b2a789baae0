// File names in known formats: torchrun's folders, Slurm's logs, profiler traces.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "memtool/profile/ranks/identity.h"

namespace memtool::commands {

struct KnownFileName {
  RankIdentity found{};
  // What of the file's name is still to be searched for words; the rest was understood, or is a
  // host's name, whose words mean nothing.
  std::string_view rest{};
  // How many components, the file's among them, belong to this form; the job lies above.
  std::size_t components = 1;
};

// `components` of a path, at least one.
KnownFileName ReadKnownFileName(std::span<const std::string_view> components);

}  // namespace memtool::commands
