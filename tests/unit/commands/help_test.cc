#include "help/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "options/user/terminal_options.h"

namespace memtool::commands {
namespace {

using testing::HasSubstr;
using testing::Not;

// What short help promises is there: no name of an option that went away.
TEST(Help, OptionsThatPeopleUseAreDeclared) {
  for (const CommandEntry& entry : Commands()) {
    const CommandLine line(entry);
    const auto& [command, terminal, options] = line;
    std::istringstream often{std::string(command->doc().often)};
    for (std::string name; often >> name;) {
      const auto* option = options.find_nothrow(name, false);
      EXPECT_TRUE(option != nullptr && !option->description().empty())
          << entry.name << " --" << name;
    }
  }
}

TEST(Help, OlderNamesStandInNone) {
  for (const CommandEntry& entry : Commands()) {
    const CommandLine line(entry);
    const auto& [command, terminal, options] = line;
    const std::string text = CommandHelp(entry, *command, options);
    for (const auto& option : options.options()) {
      if (option->description().empty()) {
        EXPECT_THAT(text, Not(HasSubstr("\n  --" + option->long_name() + " "))) << entry.name;
      }
    }
  }
}

// The call graph, one page: three commands on one line.
TEST(Help, CommandsOfOneKindStandOnOneLine) {
  const std::string text = Overview(false);
  EXPECT_THAT(text, HasSubstr("  dot, svg, web "));
  EXPECT_THAT(text, HasSubstr("  report, open, page "));
  EXPECT_THAT(text, Not(HasSubstr("Reads:")));
  EXPECT_THAT(Overview(true), HasSubstr("Reads:"));
  for (const CommandEntry& entry : Commands()) {
    EXPECT_THAT(text, HasSubstr(std::string(entry.name)));
    EXPECT_THAT(text, HasSubstr("\n" + std::string(entry.question) + "\n"));
  }
}

}  // namespace
}  // namespace memtool::commands
