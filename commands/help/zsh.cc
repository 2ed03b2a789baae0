// Completions for zsh.
#include <fmt/format.h>

#include "help/vocabulary.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kZshHead = R"(#compdef memtool
# zsh completion for memtool, written by `memtool help --completions zsh`

# [OPTION OF COMPADD]... -- WORD...: what ends in one of : = @ goes on after that. _arguments puts the options in.
_memtool_words() {
  local -i split=${@[(ie)--]}
  local -a options=("${@[1,split - 1]}")
  local word found=1
  for word in "${@[split + 1,-1]}"; do
    if [[ $word == *[:=@] ]]; then
      compadd "${options[@]}" -S '' -- "$word" && found=0
    else
      compadd "${options[@]}" -- "$word" && found=0
    fi
  done
  return found
}

_memtool_words_or_files() {
  local -i split=${@[(ie)--]}
  local found=1
  _memtool_words "$@" && found=0
  _files "${@[1,split - 1]}" && found=0
  return found
}

# Another program's command line, which may come after "--".
_memtool_program() {
  if [[ $words[1] == -- ]]; then
    shift words
    ((CURRENT--))
  fi
  _normal
}

_memtool() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  local -a subcommands=(
)";

constexpr std::string_view kMiddle = R"(  )
  _arguments -C \
    '(- 1 *)'{-h,--help}'[what memtool does]' \
    '(- 1 *)'{-V,--version}'[which version this is]' \
    '1:command:->command' \
    '*::argument:->argument' && return 0
  case $state in
    command) _describe -t commands 'memtool command' subcommands ;;
    argument)
      case $words[1] in
)";

constexpr std::string_view kTail = R"(      esac
      ;;
  esac
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _memtool "$@"
else
  compdef _memtool memtool
fi
)";

std::string Escaped(const std::string& text, std::string_view special) {
  std::string escaped;
  for (const char c : text) {
    escaped += special.find(c) != std::string_view::npos ? std::string{'\\', c} : std::string(1, c);
  }
  return escaped;
}

// What completes a value.
std::string ZshAction(const std::string& value, const KnownWords& known) {
  const std::string words = Escaped(Spaced(known.words), ":");
  if (known.list) {
    return fmt::format("_values -s , {} {}", Escaped(value, ":,."), words);
  }
  if (!known.words.empty()) {
    return (known.files ? "_memtool_words_or_files -- " : "_memtool_words -- ") + words;
  }
  return known.files ? "_files" : "";
}

// "'(-o --output)'{-o+,--output=}'[write to FILE]:FILE:_files'".
std::string Specification(const CommandWords& command, const OptionWords& option) {
  const std::string name = command.Dashed(option);
  std::string rest = "[" + Escaped(option.about, "[]:\\") + "]";
  if (!option.value.empty()) {
    rest += ":" + Escaped(option.value, ":") + ":" + ZshAction(option.value, option.known);
  }
  const std::string with_value = option.value.empty() ? "" : "=";
  if (option.letter == 0) {
    return Quoted((option.several ? "*" : "") + name + with_value + rest);
  }
  const std::string both = fmt::format("{{-{}{},{}{}}}", option.letter,
                                       option.value.empty() ? "" : "+", name, with_value);
  return option.several
             ? "'*'" + both + Quoted(rest)
             : fmt::format("'(-{0} {1})'{2}{3}", option.letter, name, both, Quoted(rest));
}

}  // namespace

std::string ZshScript(const std::vector<CommandWords>& commands) {
  std::string script(kZshHead);
  for (const CommandWords& command : commands) {
    script += "    " + Quoted(command.name + ":" + Escaped(command.summary, ":")) + "\n";
  }
  script += kMiddle;
  for (const CommandWords& command : commands) {
    script += fmt::format("        {})\n          _arguments -S : \\\n", command.name);
    for (const OptionWords& option : command.options) {
      script += "            " + Specification(command, option) + " \\\n";
    }
    if (command.line == Command::Line::kProgram) {
      script += "            '(-)1:program: _command_names -e' '*::argument: _memtool_program'";
    } else {
      script += "            " + Quoted("*:argument:" + ZshAction("argument", command.arguments));
    }
    script += "\n          ;;\n";
  }
  return script + std::string(kTail);
}

}  // namespace memtool::commands
