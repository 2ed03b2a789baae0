#include "help/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <vector>

#include "help/declared_answers.h"
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
)";

constexpr std::string_view kShortEnd = R"(
More of a command: memtool COMMAND -h, all of it: --help or memtool-COMMAND(1)
What memtool reads, and its exit codes: memtool --help
)";

constexpr std::string_view kEnd = R"(Each command: memtool COMMAND --help, or memtool-COMMAND(1).
)";

constexpr std::size_t kOften = 6;
// Of the options that many commands share.
constexpr auto kSharedOften =
    std::to_array<std::string_view>({"at", "by", "focus", "limit", "keywords", "format", "output"});

// Commands whose summaries begin alike ("the call graph: as a picture") stand on one line.
struct Family {
  std::string names;
  std::string summary;
};

std::vector<Family> FamiliesOf(std::string_view question) {
  std::vector<Family> families;
  std::string_view last;  // what the summary of the command before it begins with
  for (const CommandEntry& entry : Commands()) {
    if (entry.question != question) {
      continue;
    }
    const std::size_t colon = entry.summary.find(": ");
    const std::string_view kind =
        colon == std::string_view::npos ? std::string_view() : entry.summary.substr(0, colon);
    if (!kind.empty() && kind == last) {
      families.back().names += fmt::format(", {}", entry.name);
      families.back().summary += fmt::format(", {}", entry.summary.substr(colon + 2));
    } else {
      families.push_back({std::string(entry.name), std::string(entry.summary)});
    }
    last = kind;
  }
  return families;
}

std::string CommandList() {
  std::vector<std::string_view> questions;
  for (const CommandEntry& entry : Commands()) {
    if (std::find(questions.begin(), questions.end(), entry.question) == questions.end()) {
      questions.push_back(entry.question);
    }
  }
  std::string text;
  for (const std::string_view question : questions) {
    text += fmt::format("\n{}\n", question);
    for (const Family& family : FamiliesOf(question)) {
      text += fmt::format("  {:<18} {}\n", family.names, family.summary);
    }
  }
  return text;
}

// What is declared without a description is an older name, and stands in no help.
std::string OptionList(const po::options_description& options) {
  std::ostringstream list;
  list << options;
  std::string text = list.str();
  for (const auto& option : options.options()) {
    if (option->description().empty()) {
      const std::size_t at =
          text.find(fmt::format("\n  {} {}", option->format_name(), option->format_parameter()));
      text.erase(at, text.find('\n', at + 1) - at);
    }
  }
  return text;
}

// The first lines of a text.
std::string Indented(std::string_view lines, std::size_t most) {
  std::string text;
  for (; most > 0 && !lines.empty(); --most) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    text += fmt::format("  {}\n", line);
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return text;
}

// What a command says first, then what all share.
std::vector<std::string_view> OftenNames(const Doc& doc) {
  std::vector<std::string_view> names;
  for (std::string_view rest = doc.often; !rest.empty();) {
    names.push_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(names.back().size() + 1, rest.size()));
  }
  names.insert(names.end(), kSharedOften.begin(), kSharedOften.end());
  return names;
}

}  // namespace

std::string Overview(bool all) {
  std::string text = std::string(kFirstExamples) + CommandList();
  if (!all) {
    return text + std::string(kShortEnd);
  }
  text += "\nReads:\n";
  for (const formats::Reader* reader : formats::Readers()) {
    text += fmt::format("  {}\n", reader->summary());
  }
  return text + std::string(kExitCodes) + std::string(kEnd);
}

std::vector<boost::shared_ptr<po::option_description>> OftenUsed(
    const Doc& doc, const po::options_description& options) {
  std::vector<boost::shared_ptr<po::option_description>> taken;
  for (const std::string_view name : OftenNames(doc)) {
    const auto& all = options.options();
    const auto found = std::find_if(all.begin(), all.end(), [name](const auto& option) {
      return option->long_name() == name && !option->description().empty();
    });
    if (found != all.end() && taken.size() < kOften &&
        std::find(taken.begin(), taken.end(), *found) == taken.end()) {
      taken.push_back(*found);
    }
  }
  return taken;
}

std::string ShortHelp(const CommandEntry& entry, const Command& command,
                      const po::options_description& options) {
  const Doc doc = command.doc();
  std::string text = fmt::format("memtool {}: {}\n\nUsage: memtool {} {}\n{}", entry.name,
                                 entry.summary, entry.name, doc.usage, Indented(doc.examples, 2));
  po::options_description often("Options that people use");
  for (const auto& option : OftenUsed(doc, options)) {
    often.add(option);
  }
  std::ostringstream list;
  list << often;
  text += "\n" + list.str();
#ifndef __EMSCRIPTEN__  // a page says what columns mean by itself
  text += ColumnLegend(entry.name);
#endif
  return text + fmt::format("\nAll options: memtool {} --help\n", entry.name);
}

std::string CommandHelp(const CommandEntry& entry, const Command& command,
                        const po::options_description& options) {
  const Doc doc = command.doc();
  return fmt::format("memtool {}: {}\n\nExamples:\n{}\nUsage: memtool {} {}\n{}", entry.name,
                     entry.summary, Indented(doc.examples, SIZE_MAX), entry.name, doc.usage,
                     OptionList(options));
}

}  // namespace memtool::commands
