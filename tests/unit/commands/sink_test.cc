// Files that are read are never written to, whatever name leads to them.
#include "output/sink.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace memtool::commands {
namespace {

namespace fs = std::filesystem;

class WrittenFile : public ::testing::Test {
 protected:
  WrittenFile() : folder_(fs::path(testing::TempDir()) / ("sink" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "input") << "precious";
    streams_.inputs.Add(folder_ / "input");
  }
  ~WrittenFile() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string Read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Result<void> Write(const fs::path& name) {
    return WriteWholeFile(folder_ / name, "new", streams_);
  }
  void ExpectRefused(const fs::path& name) {
    const auto written = Write(name);
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code, ErrorCode::kUsage) << name;
    EXPECT_EQ(Read("input"), "precious") << name;
  }

  fs::path folder_;
  StringSink out_;
  Streams streams_{.out = out_, .err = out_};
};

TEST_F(WrittenFile, IsNoInputByAnyName) {
  fs::create_symlink("input", folder_ / "symbolic");
  fs::create_hard_link(folder_ / "input", folder_ / "hard");
  fs::create_symlink(".", folder_ / "folder");
  ExpectRefused("input");
  ExpectRefused("./input");
  ExpectRefused("symbolic");
  ExpectRefused("hard");
  ExpectRefused(fs::path("folder") / "input");
}

TEST_F(WrittenFile, IsNotTheFileOnStandardInput) {
  std::ofstream(folder_ / "stdin") << "precious";
  const int before = ::dup(STDIN_FILENO);
  std::FILE* file = std::fopen((folder_ / "stdin").c_str(), "r");
  ASSERT_NE(file, nullptr);
  ::dup2(::fileno(file), STDIN_FILENO);
  streams_.inputs.Add("-");
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  std::fclose(file);
  EXPECT_FALSE(Write("stdin"));
  EXPECT_EQ(Read("stdin"), "precious");
}

TEST_F(WrittenFile, MayBeAnythingElse) {
  fs::copy_file(folder_ / "input", folder_ / "copy");
  for (const char* name : {"copy", "fresh"}) {
    EXPECT_TRUE(Write(name)) << name;
    EXPECT_EQ(Read(name), "new") << name;
  }
  streams_.inputs.Add("/dev/null");  // nothing is lost there
  EXPECT_TRUE(WriteWholeFile("/dev/null", "new", streams_));
  streams_.inputs.Add(folder_ / "missing");
  EXPECT_TRUE(Write("missing"));
  EXPECT_EQ(out_.text(), "");
}

}  // namespace
}  // namespace memtool::commands
