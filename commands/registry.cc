// The only file that names every command.
#include <algorithm>
#include <array>

#include "command.h"

namespace memtool::commands {

std::unique_ptr<Command> MakeTop();
std::unique_ptr<Command> MakeDiff();
std::unique_ptr<Command> MakeBuckets();
std::unique_ptr<Command> MakeAccount();
std::unique_ptr<Command> MakeTags();
std::unique_ptr<Command> MakeTree();
std::unique_ptr<Command> MakePeek();
std::unique_ptr<Command> MakeFlame();
std::unique_ptr<Command> MakeTraces();
std::unique_ptr<Command> MakeWeb();
std::unique_ptr<Command> MakeTimeline();
std::unique_ptr<Command> MakeSteps();
std::unique_ptr<Command> MakeSegments();
std::unique_ptr<Command> MakeEvents();
std::unique_ptr<Command> MakeOom();
std::unique_ptr<Command> MakeRanks();
std::unique_ptr<Command> MakeIndex();
std::unique_ptr<Command> MakeCheck();
std::unique_ptr<Command> MakeWhatif();
std::unique_ptr<Command> MakeFit();
std::unique_ptr<Command> MakeLeaks();
std::unique_ptr<Command> MakeInfo();
std::unique_ptr<Command> MakeDot();
std::unique_ptr<Command> MakeSvg();
std::unique_ptr<Command> MakeRaw();
std::unique_ptr<Command> MakeConvert();
std::unique_ptr<Command> MakeCut();
std::unique_ptr<Command> MakeMerge();
std::unique_ptr<Command> MakePprof();
std::unique_ptr<Command> MakeRun();
std::unique_ptr<Command> MakePage();
std::unique_ptr<Command> MakeReport();
std::unique_ptr<Command> MakeOpen();
std::unique_ptr<Command> MakeHelp();

namespace {

// One per line.
constexpr auto kCommands = std::to_array<CommandEntry>({
    // clang-format off
    {"top", MakeTop},
    {"diff", MakeDiff},
    {"buckets", MakeBuckets},
    {"account", MakeAccount},
    {"tags", MakeTags},
    {"tree", MakeTree},
    {"peek", MakePeek},
    {"flame", MakeFlame},
    {"traces", MakeTraces},
    {"timeline", MakeTimeline},
    {"steps", MakeSteps},
    {"segments", MakeSegments},
    {"events", MakeEvents},
    {"oom", MakeOom},
#ifndef __EMSCRIPTEN__  // a page shows a few inputs, and no job
    {"ranks", MakeRanks},
    {"index", MakeIndex},
    {"check", MakeCheck},
#endif
    {"whatif", MakeWhatif},
    {"fit", MakeFit},
    {"leaks", MakeLeaks},
    {"info", MakeInfo},
    {"dot", MakeDot},
    {"svg", MakeSvg},
    {"web", MakeWeb},
    {"raw", MakeRaw},
    {"convert", MakeConvert},
    {"cut", MakeCut},
    {"merge", MakeMerge},
#ifndef MEMTOOL_EMBEDDED  // starts no processes, and draws in other ways
    {"pprof", MakePprof},
    {"run", MakeRun},
    {"report", MakeReport},
    {"open", MakeOpen},
    {"page", MakePage},
#endif
    {"help", MakeHelp},
    // clang-format on
});

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
