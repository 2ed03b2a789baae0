// All commands, as commands.def lists them.
#include <algorithm>
#include <array>

#include "base/command.h"

namespace memtool::commands {

#define MEMTOOL_COMMAND(name, make, question, summary) std::unique_ptr<Command> make();
#include "commands.def"
#undef MEMTOOL_COMMAND

namespace {

#define MEMTOOL_COMMAND(name, make, question, summary) CommandEntry{#name, question, summary, make},
constexpr auto kCommands = std::to_array({
#include "commands.def"
});
#undef MEMTOOL_COMMAND

}  // namespace

std::span<const CommandEntry> Commands() {
  return kCommands;
}

const CommandEntry* FindCommand(std::string_view name) {
  const auto* found =
      std::find_if(kCommands.begin(), kCommands.end(),
                   [name](const CommandEntry& entry) { return entry.name == name; });
  return found == kCommands.end() ? nullptr : found;
}

}  // namespace memtool::commands
