#include "help/help.h"

#include <fmt/format.h>

#include <sstream>

#include "memtool/formats/reader.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kFirstExamples =
    R"(memtool explains accelerator memory from the files that jobs leave behind.

  memtool FILE                                one screen about any of them
  memtool top memory9.prof                    what holds the memory
  memtool diff memory1.prof memory9.prof      what grew
  memtool leaks memory*.prof                  what keeps growing
  memtool top --at peak snapshot.pickle       what held it at the peak
  memtool oom train.log                       why it ran out
  memtool buckets snapshot.pickle             by category, and what nobody tracks
  memtool dot memory9.prof | dot -Tsvg        the call graph
)";

constexpr std::string_view kExitCodes = R"(
Exit codes: 0 success, 1 limit exceeded, 2 usage, 3 an input cannot be read, 4 damage under
--strict, 5 internal fault, 6 output not writable.
Each command: memtool COMMAND --help, or memtool-COMMAND(1).
)";

}  // namespace

std::string Overview() {
  std::string text(kFirstExamples);
  text += "\nCommands:\n";
  for (const CommandEntry& entry : Commands()) {
    text += fmt::format("  {:<9} {}\n", entry.name, entry.summary);
  }
  text += "\nReads:\n";
  for (const formats::Reader* reader : formats::Readers()) {
    text += fmt::format("  {}\n", reader->summary());
  }
  return text + std::string(kExitCodes);
}

std::string CommandHelp(const CommandEntry& entry, const Command& command,
                        const po::options_description& options) {
  const Doc doc = command.doc();
  std::string text = fmt::format("memtool {}: {}\n\nExamples:\n", entry.name, entry.summary);
  std::string_view examples = doc.examples;
  while (!examples.empty()) {
    const std::size_t end = examples.find('\n');
    text += fmt::format("  {}\n", examples.substr(0, end));
    examples = end == std::string_view::npos ? std::string_view{} : examples.substr(end + 1);
  }
  text += fmt::format("\nUsage: memtool {} {}\n", entry.name, doc.usage);
  std::ostringstream list;
  list << options;
  return text + list.str();
}

}  // namespace memtool::commands
