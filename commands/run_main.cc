#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/variables_map.hpp>
#include <new>
#include <sstream>

#include "command.h"
#include "fit_help.h"
#include "help.h"
#include "memory_bound.h"
#include "memtool/profile/base/sizes.h"
#include "output/escape.h"
#include "words/nearest.h"
#include "words/subjects.h"

namespace memtool::commands {

namespace {

std::vector<std::string> OptionNames(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) {
    names.push_back(option->long_name());
  }
  return names;
}

// Boost's messages, in memtool's words and with a suggestion.
Error UsageError(const po::error& error, std::string_view command,
                 const po::options_description& options) {
  std::string message = error.what();
  std::string hint;
  if (const auto* unknown = dynamic_cast<const po::unknown_option*>(&error)) {
    std::string name = unknown->get_option_name();
    name.erase(0, name.find_first_not_of('-'));
    message = fmt::format("there is no option {}{}{}", name.size() == 1 ? "-" : "--", name,
                          DidYouMean(name, OptionNames(options), "--"));
    hint = fmt::format("memtool {} --help lists them", command);
  }
  return Error{.code = ErrorCode::kUsage,
               .input = {},
               .message = std::move(message),
               .hint = std::move(hint)};
}

// Notes the files that options name as inputs, which the command must not overwrite. Names from
// elsewhere (a list of them, the default input) are noted where they are found.
void NoteInputs(const po::variables_map& values, InputFiles& inputs) {
  for (const char* option : {"file", "diff-base"}) {
    if (const auto found = values.find(option); found != values.end()) {
      for (const std::string& name : found->second.as<std::vector<std::string>>()) {
        inputs.Add(name);
      }
    }
  }
  for (const char* option : {"files-from", "keywords", "expected-sum"}) {
    if (const auto found = values.find(option); found != values.end()) {
      const std::string name = found->second.as<std::string>();
      inputs.Add(option != std::string_view("expected-sum") ? name
                 : name.starts_with('@')                    ? name.substr(1)
                                                            : std::string{});
    }
  }
}

Result<void> Parse(std::string_view command, const std::vector<std::string>& args,
                   const po::options_description& options, InputFiles& inputs) {
  namespace style = po::command_line_style;
  po::positional_options_description positional;
  positional.add("file", -1);
  try {
    po::variables_map values;
    po::store(po::command_line_parser(args)
                  .options(options)
                  .positional(positional)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
    NoteInputs(values, inputs);
  } catch (const po::error& error) {
    return Fail(UsageError(error, command, options));
  }
  return {};
}

int Report(const Error& error, Streams& streams) {
  Warn(streams, Worded(error));
  (void)streams.err.Flush();
  return static_cast<int>(ExitCodeFor(error));
}

int RunCommand(const CommandEntry& entry, const std::vector<std::string>& args, Streams& streams) {
  const std::unique_ptr<Command> command = entry.make();
  po::options_description options;
  command->Declare(options);
  // What follows "--" is not ours: `memtool run -- python --help`.
  const bool help = std::any_of(
      args.begin(), std::find(args.begin(), args.end(), "--"),
      [](const std::string& arg) { return arg == "--help" || arg == "-help" || arg == "-h"; });
  if (help) {
    streams.out.Write(
        FitHelp(CommandHelp(entry.name, *command, options), streams.out.TerminalWidth()));
    return static_cast<int>(streams.out.Flush() ? ExitCode::kOk : ExitCode::kOutput);
  }
  auto parsed = command->ParseRaw(args);
  if (!parsed) {
    parsed = Parse(entry.name, args, options, streams.inputs);
  }
  if (!*parsed) {
    return Report(parsed->error(), streams);
  }
  Result<ExitCode> code = command->Run(streams);
  if (!code) {
    return Report(code.error(), streams);
  }
  if (auto flushed = streams.out.Flush(); !flushed) {
    return Report(flushed.error(), streams);
  }
  return static_cast<int>(*code);
}

}  // namespace

ExitCode ExitCodeFor(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUsage:
      return ExitCode::kUsage;
    case ErrorCode::kOutput:
      return ExitCode::kOutput;
    default:
      return ExitCode::kInput;
  }
}

void Warn(Streams& streams, std::string_view message) {
  streams.err.Write("memtool: " + EscapeText(message) + "\n");
}

int RunMain(std::span<const std::string> args, Streams& streams) {
  try {
    if (args.empty() || args[0] == "--help" || args[0] == "-h") {
      streams.out.Write(FitHelp(Overview(), streams.out.TerminalWidth()));
      return static_cast<int>(streams.out.Flush() ? ExitCode::kOk : ExitCode::kOutput);
    }
    if (args[0] == "--version" || args[0] == "-V") {
      streams.out.Write(VersionText());
      return static_cast<int>(streams.out.Flush() ? ExitCode::kOk : ExitCode::kOutput);
    }
    const CommandEntry* entry = FindCommand(args[0]);
    if (entry == nullptr) {
      std::vector<std::string> names;
      for (const CommandEntry& command : Commands()) {
        names.emplace_back(command.name);
      }
      return Report(Error{.code = ErrorCode::kUsage,
                          .input = {},
                          .message = fmt::format("there is no command '{}'{}", args[0],
                                                 DidYouMean(args[0], names, "memtool ")),
                          .hint = "memtool help lists them"},
                    streams);
    }
    return RunCommand(*entry, {args.begin() + 1, args.end()}, streams);
  } catch (const std::bad_alloc&) {
    // Reading catches its own: this was the answer.
    const std::uint64_t bound = MemoryBound();
    Warn(streams, bound == 0
                      ? "needs more memory than this machine has"
                      : fmt::format("the answer needs more memory than {} (--limit memory=SIZE)",
                                    FormatSize(static_cast<std::int64_t>(bound))));
    (void)streams.err.Flush();
    return static_cast<int>(ExitCode::kInput);
  } catch (const std::exception& fault) {
    Warn(streams, fmt::format("internal fault: {}; please report it", fault.what()));
  }
  (void)streams.err.Flush();
  return static_cast<int>(ExitCode::kInternal);
}

}  // namespace memtool::commands
