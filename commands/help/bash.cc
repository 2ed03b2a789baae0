// Completions for bash 4.2 and later; bash-completion is used where it is there.
#include <fmt/format.h>

#include <map>

#include "help/vocabulary.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kBashHead =
    R"(# bash completion for memtool, written by `memtool help --completions bash`

)";

constexpr std::string_view kBody = R"(
# Puts the candidates that begin with $value into COMPREPLY. bash has cut the word at = and :, and
# puts in only what comes after the last of them.
_memtool_offer() {  # CANDIDATE...
  local breaks=${COMP_WORDBREAKS//[^=:]/} cut='' candidate
  if [[ -n $breaks && $current == *["$breaks"]* ]]; then
    cut=${current%"${current##*["$breaks"]}"}
  fi
  for candidate in "$@"; do
    if [[ $candidate == "$value"* ]]; then
      candidate=$head$candidate
      COMPREPLY+=("${candidate#"$cut"}")
    fi
  done
}

_memtool_offer_files() {
  local -a names
  value=${value#[\'\"]}
  value=${value//\\/}
  mapfile -t names < <(compgen -f -- "$value")
  compopt -o filenames 2> /dev/null
  _memtool_offer "${names[@]}"
}

_memtool_offer_values() {  # after _memtool_value
  local -a known
  read -ra known <<< "$words"
  if [[ -n $list && $value == *,* ]]; then
    head+=${value%,*},
    value=${value##*,}
  fi
  _memtool_offer "${known[@]}"
  if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[:=@] ]]; then
    compopt -o nospace 2> /dev/null
  fi
  if [[ -n $files ]]; then
    _memtool_offer_files
  fi
}

_memtool_offer_program() {  # POSITION in line
  if declare -F _command_offset > /dev/null; then
    _command_offset "${start[$1]}"
  elif ((${#line[@]} - 1 == $1)); then
    local -a names
    mapfile -t names < <(compgen -c -- "$value")
    _memtool_offer "${names[@]}"
  else
    _memtool_offer_files
  fi
}

_memtool() {
  COMPREPLY=()
  # The words of the line as they were before bash cut them, and where each begins in COMP_WORDS.
  local -a line=() start=()
  local rest=$COMP_LINE blank i
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    blank=${rest%%[![:space:]]*}
    rest=${rest#"$blank"}
    if ((i > 0)) && [[ -z $blank && ${COMP_WORDS[i]}${COMP_WORDS[i - 1]: -1} == *[=:]* ]]; then
      line[${#line[@]} - 1]+=${COMP_WORDS[i]}
    else
      line+=("${COMP_WORDS[i]}")
      start+=("$i")
    fi
    rest=${rest#"${COMP_WORDS[i]}"}
  done

  local last=$((${#line[@]} - 1))
  local current=${line[last]} command=${line[1]:-} option='' head='' words files list options program
  local value=$current only_arguments=''
  if ((last == 1)); then
    _memtool_offer $_memtool_commands --help --version
    return
  fi
  _memtool_options "$command" || return
  # What the words before this one make of it.
  for ((i = 2; i < last; ++i)); do
    if [[ -n $option ]]; then
      option=''
    elif [[ ${line[i]} == -- ]]; then
      only_arguments=1
      if [[ -n $program ]]; then
        _memtool_offer_program $((i + 1))
        return
      fi
    elif [[ ${line[i]} == -* && -z $only_arguments ]]; then
      if [[ ${line[i]} != *=* ]] && _memtool_value "$command" "${line[i]}"; then
        option=${line[i]}
      fi
    elif [[ -n $program ]]; then
      _memtool_offer_program "$i"
      return
    fi
  done
  if [[ -n $option ]]; then
    _memtool_value "$command" "$option" && _memtool_offer_values
  elif [[ $current == -* && -z $only_arguments ]]; then
    if [[ $current == -*=* ]]; then
      head=${current%%=*}=
      value=${current#*=}
      _memtool_value "$command" "${head%=}" && _memtool_offer_values
    else
      _memtool_offer $options
    fi
  elif [[ -n $program ]]; then
    _memtool_offer_program "$last"
  else
    _memtool_value "$command" '' && _memtool_offer_values
  fi
}

complete -F _memtool memtool
)";

// "words='table json'; files=; list=", and so on.
std::string Setting(const KnownWords& known) {
  return fmt::format("words={} files={} list={}", Quoted(Spaced(known.words)),
                     known.files ? "1" : "", known.list ? "1" : "");
}

// The cases of _memtool_value: patterns of "COMMAND OPTION" by what they set.
std::map<std::string, std::string> Settings(const std::vector<CommandWords>& commands) {
  std::map<std::string, std::string> patterns;
  const auto add = [&patterns](const std::string& setting, const std::string& pattern) {
    std::string& known = patterns[setting];
    known += (known.empty() ? "" : " | ") + Quoted(pattern);
  };
  for (const CommandWords& command : commands) {
    for (const OptionWords& option : command.options) {
      if (option.value.empty()) {
        continue;
      }
      add(Setting(option.known), command.name + " " + command.Dashed(option));
      if (command.line == Command::Line::kOneDash) {
        add(Setting(option.known), command.name + " --" + option.name);
      }
      if (option.letter != 0) {
        add(Setting(option.known), command.name + " -" + option.letter);
      }
    }
    add(Setting(command.arguments), command.name + " ");
  }
  return patterns;
}

}  // namespace

std::string BashScript(const std::vector<CommandWords>& commands) {
  std::string script(kBashHead);
  std::string names;
  std::string options;
  for (const CommandWords& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    std::string own;
    for (const OptionWords& option : command.options) {
      own += (own.empty() ? "" : " ") + command.Dashed(option);
    }
    options += fmt::format("    {}) options={} program={} ;;\n", command.name, Quoted(own),
                           command.line == Command::Line::kProgram ? "1" : "");
  }
  script += fmt::format("_memtool_commands={}\n\n", Quoted(names));
  script += "# COMMAND: sets its options; fails for what is none.\n_memtool_options() {\n";
  script += "  case $1 in\n" + options + "    *) return 1 ;;\n  esac\n}\n\n";
  script +=
      "# COMMAND OPTION: sets what is known of its value, of arguments where OPTION is empty;\n";
  script += "# fails where there is no value.\n_memtool_value() {\n  case \"$1 $2\" in\n";
  for (const auto& [setting, patterns] : Settings(commands)) {
    script += fmt::format("    {})\n      {} ;;\n", patterns, setting);
  }
  script += "    *) return 1 ;;\n  esac\n}\n";
  return script + std::string(kBody);
}

}  // namespace memtool::commands
