#include "help/vocabulary.h"

#include <algorithm>
#include <boost/program_options/cmdline.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <typeinfo>

#include "help/completions.h"
#include "options/user/terminal_options.h"
#include "words/choice.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxAboutLength = 72;

// The beginning of a help text, as far as it makes sense by itself.
std::string ShortAbout(const std::string& help) {
  std::string text = help.substr(0, help.find("; "));
  for (const std::string_view boundary : {": ", " (", ", "}) {
    const std::size_t at = text.find(boundary);
    if (text.size() > kMaxAboutLength && at != std::string::npos) {
      text.resize(at);
    }
  }
  return text;
}

OptionWords WordsOfOption(const po::option_description& declared) {
  OptionWords option{.name = declared.long_name(), .about = ShortAbout(declared.description())};
  const std::string shown =
      declared.canonical_display_name(po::command_line_style::allow_dash_for_short);
  if (shown.size() == 2 && shown[0] == '-') {
    option.letter = shown[1];
  }
  const auto& semantic = *declared.semantic();
  if (semantic.max_tokens() > 0) {
    option.value = declared.format_parameter();
    option.known.files = option.value == "FILE";
  }
  if (const auto* words = dynamic_cast<const WithWords*>(&semantic)) {
    option.known = words->known();
  }
  const auto* typed = dynamic_cast<const po::typed_value_base*>(&semantic);
  option.several = typed != nullptr && typed->value_type() == typeid(std::vector<std::string>);
  return option;
}

CommandWords WordsOfCommand(const CommandEntry& entry) {
  const CommandLine line(entry);
  CommandWords words{.name = std::string(entry.name),
                     .summary = std::string(entry.summary),
                     .line = line.command->line()};
  words.arguments.files = words.line == Command::Line::kOneDash;
  for (const auto& one : line.options.options()) {
    if (one->description().empty()) {
      continue;  // an older name
    }
    words.options.push_back(WordsOfOption(*one));
    if (one->long_name() == "file") {
      words.arguments = words.options.back().known;
    }
  }
  words.options.push_back({.name = "help", .letter = 'h', .about = "examples and options"});
  return words;
}

enum class Shell : std::uint8_t { kBash, kZsh, kFish };
constexpr std::array<Choice<Shell>, 3> kShells{
    {{"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}}};

}  // namespace

std::vector<CommandWords> Vocabulary() {
  std::vector<CommandWords> all;
  for (const CommandEntry& entry : Commands()) {
    all.push_back(WordsOfCommand(entry));
  }
  return all;
}

std::string Spaced(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

KnownWords CompletionShells() {
  return ToWords(kShells);
}

Result<std::string> CompletionScript(std::string_view shell) {
  const auto chosen = Choose("--completions", shell, kShells);
  MEMTOOL_TRY(chosen);
  const std::vector<CommandWords> commands = Vocabulary();
  switch (*chosen) {
    case Shell::kBash:
      return BashScript(commands);
    case Shell::kZsh:
      return ZshScript(commands);
    case Shell::kFish:
      break;
  }
  return FishScript(commands);
}

}  // namespace memtool::commands
