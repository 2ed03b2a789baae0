#include "base/program.h"

#include <unistd.h>

#include <new>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/memory_bound.h"
#include "options/user/settings.h"
#include "output/temporary_file.h"
#include "output/terminal/pager.h"

namespace memtool::commands {

namespace {

int RunOwn(int argc, const char* const* argv, const std::string& folder) {
  OwnProcess();
  OwnSignals();
  FdSink err(STDERR_FILENO);
  PagedOutput out(STDOUT_FILENO);  // closed first: notes come below a pager
  Streams streams{out, err};
  streams.settings = UserSettings();
  streams.folder = folder;
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return RunMain(args, streams);
}

}  // namespace

int Program(int argc, const char* const* argv, const std::string& folder) noexcept {
  try {
    return RunOwn(argc, argv, folder);
  } catch (const std::bad_alloc&) {
    // Without another allocation.
    constexpr std::string_view kMessage = "memtool: needs more memory than there is\n";
    (void)WriteAll(STDERR_FILENO, kMessage);
    return static_cast<int>(ExitCode::kInput);
  }
}

}  // namespace memtool::commands
