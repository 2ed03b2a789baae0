#include "options/user/terminal_options.h"

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "output/terminal/background.h"
#include "words/choice.h"
#include "words/known_words.h"

namespace memtool::commands {

namespace {

enum class When : std::uint8_t { kAuto, kAlways, kNever };
constexpr std::array<Choice<When>, 3> kWhens{
    {{"auto", When::kAuto}, {"always", When::kAlways}, {"never", When::kNever}}};

// None: the terminal's own.
constexpr std::array<Choice<std::optional<Theme>>, 4> kThemes{{{"auto", std::nullopt},
                                                               {"dark", Theme::kDark},
                                                               {"light", Theme::kLight},
                                                               {"any", Theme::kAny}}};

bool IsPlainTerminal() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color != nullptr && *no_color != '\0') ||
         (term != nullptr && std::string_view(term) == "dumb");
}

}  // namespace

void TerminalOptions::Declare(po::options_description& options) {
  po::options_description group("Terminal");
  auto add = group.add_options();
  add("color", ToValue(&color_, ToWords(kWhens))->value_name("WHEN"),
      "auto, always or never (default auto; NO_COLOR counts)");
  add("theme", ToValue(&theme_, ToWords(kThemes))->value_name("NAME"),
      "colours for a dark or a light background, or for any (default auto: the terminal is asked)");
  add("hyperlinks", ToValue(&hyperlinks_, LinkFormatWords())->value_name("FORMAT"),
      "link places to their files: never (default), file, vscode, or a format of your own with "
      "{path} and {line}");
  add("ascii", po::bool_switch(&ascii_), "no character beyond ASCII in text for people");
  add("quiet,q", po::bool_switch(&quiet_), "do not name commands to go on with");
  options.add(group);
}

Result<void> TerminalOptions::Resolve(Streams& streams) const {
  auto when = Choose("--color", color_, kWhens);
  MEMTOOL_TRY(when);
  auto theme = Choose("--theme", theme_, kThemes);
  MEMTOOL_TRY(theme);
  auto links = Links::Make(hyperlinks_);
  MEMTOOL_TRY(links);
  const bool on_terminal = streams.out.TerminalWidth() > 0;
  Look& look = streams.look;
  look.in_files = *when == When::kAlways;
  if (look.in_files || (*when == When::kAuto && on_terminal && !IsPlainTerminal())) {
    look.palette = [given = *theme, on_terminal] {
      const auto theme = given || !on_terminal ? given : ThemeOfTerminal();
      return Palette(theme.value_or(Theme::kAny));
    };
  }
  look.links = on_terminal ? *std::move(links) : Links();
  look.ascii = ascii_;
  streams.out.SetAscii(ascii_);
  streams.err.SetAscii(ascii_);
  streams.names_next = streams.names_next && !quiet_;
  return {};
}

CommandLine::CommandLine(const CommandEntry& entry) : command(entry.make()) {
  command->Declare(options);
  // pprof's command line is pprof's, and that of `run` ends with another program's.
  if (command->line() == Command::Line::kUsual) {
    terminal.Declare(options);
  }
}

}  // namespace memtool::commands
