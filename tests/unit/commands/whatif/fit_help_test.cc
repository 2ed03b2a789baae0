#include "help/fit_help.h"

#include <gtest/gtest.h>

namespace memtool::commands {
namespace {

TEST(FitHelp, DescriptionsHangInTheirColumn) {
  const char* text =
      "Input:\n"
      "  --files-from LIST       read names of inputs from LIST, one a line; '-' is \n"
      "                          stdin\n"
      "  --keep-going            leave out inputs that cannot be read\n";
  EXPECT_EQ(FitHelp(text, 0), text);
  EXPECT_EQ(FitHelp(text, 100),
            "Input:\n"
            "  --files-from LIST       read names of inputs from LIST, one a line; '-' is stdin\n"
            "  --keep-going            leave out inputs that cannot be read\n");
  EXPECT_EQ(FitHelp(text, 56),
            "Input:\n"
            "  --files-from LIST       read names of inputs from\n"
            "                          LIST, one a line; '-' is stdin\n"
            "  --keep-going            leave out inputs that cannot\n"
            "                          be read\n");
  EXPECT_EQ(FitHelp(text, 40),
            "Input:\n"
            "  --files-from LIST\n"
            "      read names of inputs from LIST,\n"
            "      one a line; '-' is stdin\n"
            "  --keep-going\n"
            "      leave out inputs that cannot be\n"
            "      read\n");
}

TEST(FitHelp, ALongExampleIsStillOneCommand) {
  EXPECT_EQ(FitHelp("  memtool top --by line --focus train memory9.prof\n", 40),
            "  memtool top --by line --focus \\\n"
            "      train memory9.prof\n");
}

TEST(FitHelp, AParagraphIsOne) {
  EXPECT_EQ(
      FitHelp("memtool oom also reads text logs, and --expected-sum what nvidia-smi and its like\n"
              "print. Formats are told by content.\n\nEnd.\n",
              60),
      "memtool oom also reads text logs, and --expected-sum what\n"
      "nvidia-smi and its like print. Formats are told by content.\n\nEnd.\n");
}

TEST(FitHelp, ProseIsWrapped) {
  EXPECT_EQ(FitHelp("Exit codes: 0 fine, 1 a gate was hit, 2 usage.\n", 30),
            "Exit codes: 0 fine, 1 a gate\n"
            "was hit, 2 usage.\n");
}

}  // namespace
}  // namespace memtool::commands
