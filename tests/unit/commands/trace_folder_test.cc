// Which files of a folder of traces are read.
#include "inputs/trace_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace memtool::commands {
namespace {

namespace fs = std::filesystem;

class TraceFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void Touch(const std::string& path) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "x";
  }
  // Paths below the root.
  [[nodiscard]] std::vector<std::string> GetFiles(const std::string& folder) const {
    std::vector<std::string> files;
    const TraceFolder found = FindTraces((root_ / folder).string()).value();
    for (const std::string& file : found.files) {
      files.push_back(fs::path(file).lexically_normal().lexically_relative(root_).string());
    }
    return files;
  }

  fs::path root_;
};

TEST_F(TraceFolderTest, NewestRunFromAnyFolderAboveIt) {
  Touch("log/plugins/profile/2025_12_31_23_59_59/a.xplane.pb");
  Touch("log/plugins/profile/2026_01_02_00_00_00/b.xplane.pb");
  Touch("log/plugins/profile/2026_01_02_00_00_00/a.xplane.pb");
  Touch("log/plugins/profile/2026_02_01_00_00_00/notes.txt");  // a run without traces
  const std::vector<std::string> newest{"log/plugins/profile/2026_01_02_00_00_00/a.xplane.pb",
                                        "log/plugins/profile/2026_01_02_00_00_00/b.xplane.pb"};
  EXPECT_EQ(GetFiles("log"), newest);
  EXPECT_EQ(GetFiles("log/plugins"), newest);
  EXPECT_EQ(GetFiles("log/plugins/profile"), newest);
  EXPECT_EQ(GetFiles("log/plugins/profile/2026_01_02_00_00_00"), newest);
  const TraceFolder found = FindTraces((root_ / "log").string()).value();
  EXPECT_EQ(found.run, "2026_01_02_00_00_00");
  EXPECT_EQ(found.other_runs, 1U);
}

TEST_F(TraceFolderTest, TimesComeBeforeOtherNames) {
  Touch("plugins/profile/2024_01_01_00_00_00/a.xplane.pb");
  Touch("plugins/profile/warmup/b.xplane.pb");
  EXPECT_EQ(FindTraces(root_.string()).value().run, "2024_01_01_00_00_00");
}

TEST_F(TraceFolderTest, OneFilePerHostAndTheBestFormOfIt) {
  Touch("a.trace.json.gz");
  Touch("a.xplane.pb");
  Touch("b.trace.json");
  Touch("b.trace.json.gz");
  Touch("c.xplane.pb.gz");
  Touch("c.memory_profile.json.gz");
  Touch(".d.xplane.pb");
  Touch(".xplane.pb");
  EXPECT_EQ(GetFiles("."),
            (std::vector<std::string>{"a.xplane.pb", "b.trace.json.gz", "c.xplane.pb.gz"}));
  EXPECT_EQ(FindTraces(root_.string()).value().run, "");
}

TEST_F(TraceFolderTest, LinksThatLoopAndHiddenFoldersDoNotCount) {
  Touch("plugins/profile/.2027_01_01_00_00_00/a.xplane.pb");
  Touch("plugins/profile/2026_01_01_00_00_00/a.xplane.pb");
  fs::create_symlink("2028_loop", root_ / "plugins/profile/2028_loop");
  fs::create_symlink("..", root_ / "plugins/profile/2029_up");
  fs::create_symlink("b.xplane.pb", root_ / "plugins/profile/2026_01_01_00_00_00/b.xplane.pb");
  EXPECT_EQ(GetFiles("."),
            std::vector<std::string>{"plugins/profile/2026_01_01_00_00_00/a.xplane.pb"});
}

TEST_F(TraceFolderTest, FoldersOfOtherThingsAreNotSearched) {
  Touch("experiment1/a.xplane.pb");
  const auto found = FindTraces(root_.string());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kIo);
  EXPECT_NE(found.error().hint.find("*.xplane.pb"), std::string::npos);
  EXPECT_FALSE(FindTraces((root_ / "nothing").string()));
}

}  // namespace
}  // namespace memtool::commands
