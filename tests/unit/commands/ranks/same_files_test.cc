// Several paths of one file, and several processes with devices of one name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ranks/names/process_names.h"
#include "ranks/read_digests.h"

namespace memtool::commands {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class KeepOnceTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_ / "deep");
    std::ofstream(root_ / "rank0.pickle") << "x";
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] std::vector<std::string> Kept(const std::vector<std::string>& paths) const {
    FileTree tree;
    for (const std::string& path : paths) {
      tree.files.push_back({(root_ / path).string(), false});
    }
    KeepOnce(tree);
    std::vector<std::string> kept;
    for (const TreeFile& file : tree.files) {
      kept.push_back(file.path.substr(root_.string().size() + 1));
    }
    return kept;
  }

  fs::path root_;
};

TEST_F(KeepOnceTest, LeavesOutLinks) {
  fs::create_symlink("rank0.pickle", root_ / "latest.pickle");
  fs::create_symlink("../rank0.pickle", root_ / "deep" / "rank0.pickle");
  fs::create_hard_link(root_ / "rank0.pickle", root_ / "copy.pickle");
  fs::create_hard_link(root_ / "rank0.pickle", root_ / "deep" / "other_rank0.pickle");
  EXPECT_THAT(Kept({"copy.pickle", "deep/other_rank0.pickle", "deep/rank0.pickle", "latest.pickle",
                    "rank0.pickle", "./rank0.pickle"}),
              ElementsAre("deep/other_rank0.pickle"));
  EXPECT_THAT(Kept({"latest.pickle", "rank0.pickle"}), ElementsAre("rank0.pickle"));
}

// Somebody wants to see that ranks have the same bytes.
TEST_F(KeepOnceTest, KeepsHardLinksThatNameSeveralRanks) {
  fs::create_hard_link(root_ / "rank0.pickle", root_ / "rank1.pickle");
  fs::create_hard_link(root_ / "rank0.pickle", root_ / "m2.pickle");
  fs::create_hard_link(root_ / "rank0.pickle", root_ / "m3.pickle");
  EXPECT_THAT(Kept({"rank0.pickle", "rank1.pickle"}), ElementsAre("rank0.pickle", "rank1.pickle"));
  EXPECT_THAT(Kept({"m2.pickle", "m3.pickle"}), ElementsAre("m2.pickle", "m3.pickle"));
}

TEST_F(KeepOnceTest, KeepsOtherFiles) {
  std::ofstream(root_ / "deep" / "rank0.pickle") << "x";
  EXPECT_THAT(Kept({"rank0.pickle", "deep/rank0.pickle", "absent.pickle"}),
              ElementsAre("rank0.pickle", "deep/rank0.pickle", "absent.pickle"));
}

TEST(NamesOfProcesses, AreOfFilesThatTellThem) {
  EXPECT_THAT(NamesOfProcesses({"a/gpu_host0.prof", "a/gpu_host1.prof"}),
              ElementsAre("gpu_host0.prof", "gpu_host1.prof"));
  EXPECT_THAT(NamesOfProcesses({"rank_0/m.prof", "rank_1/m.prof"}),
              ElementsAre("rank_0/m.prof", "rank_1/m.prof"));
  EXPECT_THAT(NamesOfProcesses({"memory1.prof", "memory2.prof"}), ElementsAre("", ""));
  EXPECT_THAT(NamesOfProcesses({"rank0.prof"}), ElementsAre(""));
}

}  // namespace
}  // namespace memtool::commands
