// Completions for fish.
#include <fmt/format.h>

#include <map>

#include "help/vocabulary.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kFishHead =
    R"(# fish completion for memtool, written by `memtool help --completions fish`

function __memtool_is --description 'whether the command is one of these'
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

set -l first 'test (count (commandline -opc)) -eq 1'
complete -c memtool -n $first -f
complete -c memtool -n $first -s h -l help -d 'what memtool does'
complete -c memtool -n $first -s V -l version -d 'which version this is'
)";

std::string FishQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  }
  return quoted + "'";
}

// What completes a value: -x takes no files, -r -F also those.
std::string FishValue(const KnownWords& known) {
  const std::string words =
      known.words.empty() ? ""
      : known.list        ? " -a " + FishQuoted("(__fish_append , " + Spaced(known.words) + ")")
                          : " -a " + FishQuoted(Spaced(known.words));
  return (known.files ? " -r -F" : " -x") + words;
}

std::string OptionLine(const CommandWords& command, const OptionWords& option) {
  std::string text;
  if (option.letter != 0) {
    text += fmt::format(" -s {}", option.letter);
  }
  text += command.Dashed(option).starts_with("--") ? " -l " : " -o ";
  text += option.name;
  if (!option.value.empty()) {
    text += FishValue(option.known);
  }
  return text + " -d " + FishQuoted(option.about);
}

}  // namespace

std::string FishScript(const std::vector<CommandWords>& commands) {
  std::string script(kFishHead);
  // Options that several commands have alike are written once.
  std::vector<std::string> order;
  std::map<std::string, std::string> owners;
  for (const CommandWords& command : commands) {
    script += fmt::format("complete -c memtool -n $first -a {} -d {}\n", command.name,
                          FishQuoted(command.summary));
    for (const OptionWords& option : command.options) {
      const std::string text = OptionLine(command, option);
      std::string& of = owners[text];
      if (of.empty()) {
        order.push_back(text);
      }
      of += " " + command.name;
    }
  }
  for (const std::string& text : order) {
    script += fmt::format("complete -c memtool -n '__memtool_is{}'{}\n", owners[text], text);
  }
  for (const CommandWords& command : commands) {
    const std::string condition =
        fmt::format("complete -c memtool -n '__memtool_is {}'", command.name);
    if (command.line == Command::Line::kProgram) {
      script += condition + " -x -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
    } else if (!command.arguments.files) {
      script += condition + " -f";
      script += command.arguments.words.empty()
                    ? "\n"
                    : " -a " + FishQuoted(Spaced(command.arguments.words)) + "\n";
    }
  }
  return script;
}

}  // namespace memtool::commands
