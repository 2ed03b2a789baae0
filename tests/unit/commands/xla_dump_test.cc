#include "inputs/xla_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtool::commands {
namespace {

using ::testing::ElementsAre;

const std::string kStep = "d/module_0002.jit_step.sm_8.0_gpu_after_optimizations";

TEST(XlaDump, TheBestFileOfEachProgramStays) {
  EXPECT_THAT(
      BestOfDump({"d/module_0001.f.before_optimizations.txt", kStep + "-memory-usage-report.txt",
                  kStep + ".ll", kStep + "-buffer-assignment.txt", "other.prof",
                  "e/module_0002.jit_step.cpu_after_optimizations-memory-usage-report.txt"}),
      ElementsAre(kStep + "-buffer-assignment.txt", "other.prof",
                  "e/module_0002.jit_step.cpu_after_optimizations-memory-usage-report.txt"));
  EXPECT_THAT(BestOfDump({kStep + "-buffer-assignment.txt", kStep + ".hlo.pb"}),
              ElementsAre(kStep + "-buffer-assignment.txt", kStep + ".hlo.pb"));  // to compare them
  EXPECT_THAT(BestOfDump({kStep + ".ll"}), ElementsAre(kStep + ".ll"));
}

TEST(XlaDump, FoldersOfOtherFilesAreNone) {
  EXPECT_TRUE(FindPrograms("d", {"module_0001.f.before_optimizations.txt", "a.prof"}).empty());
  EXPECT_TRUE(FindPrograms("d", {"my_module_0001.f.cpu_after_optimizations.hlo.pb"}).empty());
  EXPECT_THAT(FindPrograms("d", {"host1.module_0012.f.gfx942_gpu_after_optimizations.hlo.pb"}),
              ElementsAre("d/host1.module_0012.f.gfx942_gpu_after_optimizations.hlo.pb"));
}

TEST(XlaDump, ProgramsAreCalledByTheirModules) {
  EXPECT_EQ(DumpedProgram(kStep + ".hlo.pb"), "jit_step (module_0002)");
  EXPECT_EQ(DumpedProgram("module_0001.cluster_0.1.cpu_after_optimizations-buffer-assignment.txt"),
            "cluster_0.1 (module_0001)");
  EXPECT_EQ(DumpedProgram("a/program.hlo.pb"), "a/program.hlo.pb");
}

}  // namespace
}  // namespace memtool::commands
