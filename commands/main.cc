#include <unistd.h>

#include <string>
#include <vector>

#include "command.h"
#include "output/temporary_file.h"

int main(int argc, char** argv) {
  memtool::commands::SurviveFileSizeLimit();
  memtool::commands::FdSink out(STDOUT_FILENO);
  memtool::commands::FdSink err(STDERR_FILENO);
  memtool::commands::Streams streams{out, err};
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return memtool::commands::RunMain(args, streams);
}
