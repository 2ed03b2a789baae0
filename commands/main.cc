#include <unistd.h>

#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/memory_bound.h"
#include "options/user/settings.h"
#include "output/temporary_file.h"
#include "output/terminal/pager.h"

namespace {

int Main(int argc, char** argv) {
  memtool::commands::OwnProcess();
  memtool::commands::SurviveFileSizeLimit();
  memtool::commands::FdSink err(STDERR_FILENO);
  memtool::commands::PagedOutput out(STDOUT_FILENO);  // closed first: notes come below a pager
  memtool::commands::Streams streams{out, err};
  streams.settings = memtool::commands::UserSettings();
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return memtool::commands::RunMain(args, streams);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::bad_alloc&) {
    // Without another allocation.
    constexpr std::string_view kMessage = "memtool: needs more memory than there is\n";
    (void)memtool::commands::WriteAll(STDERR_FILENO, kMessage);
    return static_cast<int>(memtool::commands::ExitCode::kInput);
  }
}
