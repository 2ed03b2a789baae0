// What a subcommand is. To add one: ARCHITECTURE.md.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "output/sink.h"

namespace memtool::commands {

// The contract of memtool(1); scripts depend on it.
enum class ExitCode : std::uint8_t {
  kOk = 0,
  kGate = 1,      // a threshold that the user set was crossed
  kUsage = 2,     // the command line makes no sense
  kInput = 3,     // an input is unreadable, damaged or over a limit
  kDamage = 4,    // with --strict: an input was read around its damage
  kInternal = 5,  // a bug in this program
  kOutput = 6,    // the result could not be written
};

ExitCode ExitCodeFor(const Error& error);

// "memtool: MESSAGE" on stderr, with bytes from inputs made visible.
void Warn(Streams& streams, std::string_view message);

struct Doc {
  std::string_view usage;     // "[options] [FILE...]"
  std::string_view examples;  // one command per line
  // What people use most of its options, before those that all commands share: "conf card".
  std::string_view often = {};
};

namespace po = boost::program_options;

class Command {
 public:
  virtual ~Command() = default;
  [[nodiscard]] virtual Doc doc() const = 0;
  // Declares options into groups; values land in plain structs of the command.
  virtual void Declare(po::options_description& options) = 0;
  // For a command with a command line of its own: reads it. None = Declare() says it all.
  virtual std::optional<Result<void>> ParseRaw(std::span<const std::string> /*args*/) {
    return std::nullopt;
  }
  // How its command line is written; completions go by it.
  enum class Line : std::uint8_t {
    kUsual,
    kOneDash,  // -top: pprof's
    kProgram   // options end where the command line of a program begins
  };
  [[nodiscard]] virtual Line line() const { return Line::kUsual; }
  // Opens inputs and does the work. Errors become one line on stderr and an exit code.
  virtual Result<ExitCode> Run(Streams& streams) = 0;

  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
};

// A line of commands.def.
struct CommandEntry {
  std::string_view name;
  std::string_view question;  // that it helps to answer; a heading
  std::string_view summary;   // one line, lower case
  std::unique_ptr<Command> (*make)();
};

// All commands, in the order in which help lists them.
std::span<const CommandEntry> Commands();
const CommandEntry* FindCommand(std::string_view name);

// Runs `memtool ARGS...` (without the program's name); what main() returns. Throws std::bad_alloc
// where there is not even memory to say so.
int RunMain(std::span<const std::string> args, Streams& streams);

}  // namespace memtool::commands
