#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/variables_map.hpp>
#include <new>
#include <optional>
#include <sstream>
#include <typeinfo>

#include "base/command.h"
#include "base/memory_bound.h"
#include "help/fit_help.h"
#include "help/help.h"
#include "memtool/profile/base/sizes.h"
#include "options/default_input.h"
#include "options/user/settings.h"
#include "options/user/terminal_options.h"
#include "output/escape.h"
#include "output/whole_file.h"
#include "words/nearest.h"

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
  const auto* unknown = dynamic_cast<const po::unknown_option*>(&error);
  if (unknown == nullptr) {
    return Error{.code = ErrorCode::kUsage, .input = {}, .message = error.what()};
  }
  std::string name = unknown->get_option_name();
  name.erase(0, name.find_first_not_of('-'));
  return Error{.code = ErrorCode::kUsage,
               .input = {},
               .message = fmt::format("there is no option {}{}{}", name.size() == 1 ? "-" : "--",
                                      name, DidYouMean(name, OptionNames(options), "--")),
               .hint = fmt::format("memtool {} --help lists them", command)};
}

// What is no option, given to a command without inputs.
Error TakesNoFiles(const std::string& word, std::string_view command) {
  return {.code = ErrorCode::kUsage,
          .input = {},
          .message = fmt::format("{} takes no files: '{}'", command, word),
          .hint = fmt::format("memtool {} -h shows how it is used", command)};
}

bool IsUnsigned(const po::option_description& option) {
  const auto* value = dynamic_cast<const po::typed_value_base*>(option.semantic().get());
  return value != nullptr &&
         (value->value_type() == typeid(std::size_t) ||
          value->value_type() == typeid(std::uint64_t) || value->value_type() == typeid(unsigned));
}

// "-1" would be taken for the largest number that there is.
Result<void> RefuseNegative(const po::parsed_options& parsed,
                            const po::options_description& options) {
  for (const po::option& given : parsed.options) {
    const po::option_description* option = options.find_nothrow(given.string_key, false);
    if (option != nullptr && IsUnsigned(*option) && !given.value.empty() &&
        given.value.front().starts_with('-')) {
      return Fail(ErrorCode::kUsage, fmt::format("--{}: '{}' is not a number from 0 up",
                                                 given.string_key, given.value.front()));
    }
  }
  return {};
}

// What is written to: each file has a name, and no two the same one.
Result<void> CheckOutputs(const po::variables_map& values) {
  const auto name = [&values](const char* option) {
    const auto found = values.find(option);
    return found == values.end() ? std::string("-") : found->second.as<std::string>();
  };
  const std::string output = name("output");
  const std::string plot = name("plot");
  if (output.empty()) {
    return Fail(ErrorCode::kUsage, "--output: the name of the file is empty");
  }
  if (output != "-" && plot != "-" && SameTarget(output, plot)) {
    return Fail(ErrorCode::kUsage,
                fmt::format("--output and --plot name the same file, '{}'", output),
                "one of them would be lost");
  }
  return {};
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
                   const po::options_description& options, Streams& streams) {
  namespace style = po::command_line_style;
  po::positional_options_description positional;
  positional.add("file", -1);
  std::vector<std::string> words;
  po::options_description parsable;
  parsable.add(options);
  if (options.find_nothrow("file", false) == nullptr) {
    parsable.add_options()("file", po::value(&words));
  }
  try {
    const po::parsed_options parsed = po::command_line_parser(args)
                                          .options(parsable)
                                          .positional(positional)
                                          .style(style::unix_style & ~style::allow_guessing)
                                          .run();
    MEMTOOL_TRY(RefuseNegative(parsed, options));
    po::variables_map values;
    po::store(parsed, values);
    if (!streams.settings.empty()) {
      MEMTOOL_TRY(AddSettings(streams.settings, command, options, values));
    }
    po::notify(values);
    if (!words.empty()) {
      return Fail(TakesNoFiles(words.front(), command));
    }
    MEMTOOL_TRY(CheckOutputs(values));
    NoteInputs(values, streams.inputs);
  } catch (const po::error& error) {
    return Fail(UsageError(error, command, options));
  }
  return {};
}

int Report(const Error& error, Streams& streams) {
  streams.out.Discard();
  streams.error = error;
  Warn(streams, ToString(error));
  (void)streams.err.Flush();
  return static_cast<int>(ExitCodeFor(error));
}

// What help and --version end with.
int Finished(Streams& streams) {
  const auto flushed = streams.out.Flush();
  return flushed ? static_cast<int>(ExitCode::kOk) : Report(flushed.error(), streams);
}

enum class Help : std::uint8_t { kShort, kAll };

std::optional<Help> HelpAsked(const std::vector<std::string>& args) {
  // What follows "--" is not ours: `memtool run -- python --help`.
  const auto end = std::find(args.begin(), args.end(), "--");
  for (auto arg = args.begin(); arg != end; ++arg) {
    if (*arg == "-h") {
      return Help::kShort;
    }
    if (*arg == "--help" || *arg == "-help") {
      return Help::kAll;
    }
  }
  return std::nullopt;
}

int RunEntry(const CommandEntry& entry, const std::vector<std::string>& args, Streams& streams) {
  const CommandLine line(entry);
  const auto& [command, terminal, options] = line;
  if (const auto help = HelpAsked(args)) {
    const std::string text = *help == Help::kShort && command->line() != Command::Line::kOneDash
                                 ? ShortHelp(entry, *command, options)
                                 : CommandHelp(entry, *command, options);
    streams.out.Write(VisibleText::Lines(FitHelp(text, streams.out.TerminalWidth())));
    return Finished(streams);
  }
  auto parsed = command->ParseRaw(args);
  if (!parsed) {
    parsed = Parse(entry.name, args, options, streams);
  }
  if (*parsed) {
    parsed = terminal.Resolve(streams);
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

// `memtool FILE`, `memtool --strict FILE`: something that is there, or is written as a path.
bool NamesInput(std::span<const std::string> args) {
  const auto is_path = [](const std::string& word) {
    return word == "-" || word.find('/') != std::string::npos || ::access(word.c_str(), F_OK) == 0;
  };
  return is_path(args[0]) ||
         (args[0].starts_with('-') && std::any_of(args.begin(), args.end(), is_path));
}

Error NoSuchCommand(const std::string& word) {
  std::vector<std::string> names;
  for (const CommandEntry& command : Commands()) {
    names.emplace_back(command.name);
  }
  return {.code = ErrorCode::kUsage,
          .input = {},
          .message = fmt::format("there is no command {}'{}'{}",
                                 word.find('.') == std::string::npos ? "" : "and no file ", word,
                                 DidYouMean(word, names, "memtool ")),
          .hint = "memtool help lists them"};
}

int RunCommandLine(std::span<const std::string> args, Streams& streams) {
  const CommandEntry* overview = FindCommand("overview");
  if (args.empty() && overview != nullptr) {
    if (auto name = DefaultInput(streams)) {
      return RunEntry(*overview, {*std::move(name)}, streams);
    }
  }
  if (args.empty() || args[0] == "--help" || args[0] == "-h") {
    const bool all = !args.empty() && args[0] == "--help";
    streams.out.Write(VisibleText::Lines(FitHelp(Overview(all), streams.out.TerminalWidth())));
    return Finished(streams);
  }
  if (args[0] == "--version" || args[0] == "-V") {
    streams.out.Write(VisibleText::Lines(args[0] == "-V" ? VersionLine() : VersionText()));
    return Finished(streams);
  }
  const CommandEntry* entry = FindCommand(args[0]);
  if (entry == nullptr && overview != nullptr && NamesInput(args)) {
    return RunEntry(*overview, {args.begin(), args.end()}, streams);
  }
  if (entry == nullptr) {
    return Report(NoSuchCommand(args[0]), streams);
  }
  return RunEntry(*entry, {args.begin() + 1, args.end()}, streams);
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
  // What quotes an input can be as long as the input. The hint stands at the end.
  constexpr std::size_t kMaxLength = 2000;
  constexpr std::size_t kHead = 1400;
  std::string shown = EscapeText(message);
  if (shown.size() > kMaxLength) {
    const auto boundary = [&shown](std::size_t at) {
      while (at < shown.size() && (static_cast<unsigned char>(shown[at]) & 0xc0U) == 0x80) {
        ++at;
      }
      return at;
    };
    const std::size_t head = boundary(kHead);
    const std::size_t tail = boundary(shown.size() - (kMaxLength - kHead));
    shown = fmt::format("{} … {} bytes left out … {}", shown.substr(0, head), tail - head,
                        shown.substr(tail));
  }
  streams.err.Write(VisibleText("memtool: " + shown).EndLine());
}

int RunMain(std::span<const std::string> args, Streams& streams) {
  try {
    return RunCommandLine(args, streams);
  } catch (const OutputTooLong& too_long) {
    return Report(too_long.error, streams);
  } catch (const std::bad_alloc&) {
    // Reading catches its own: this was the answer.
    streams.out.Discard();
    const std::uint64_t bound = MemoryBound();
    Warn(streams, bound == 0
                      ? "needs more memory than this machine has"
                      : fmt::format("the answer needs more memory than {} (--max memory=SIZE)",
                                    FormatSize(static_cast<std::int64_t>(bound))));
    (void)streams.err.Flush();
    return static_cast<int>(ExitCode::kInput);
  } catch (const std::exception& fault) {
    streams.out.Discard();
    Warn(streams, fmt::format("internal fault: {}; please report it", fault.what()));
  }
  (void)streams.err.Flush();
  return static_cast<int>(ExitCode::kInternal);
}

}  // namespace memtool::commands
