// Files that are read are never written to, whatever name leads to them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "output/temporary_file.h"
#include "output/whole_file.h"

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

TEST_F(WrittenFile, KeepsModeAndLink) {
  std::ofstream(folder_ / "private") << "old";
  fs::permissions(folder_ / "private", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("private", folder_ / "link");
  ASSERT_TRUE(Write("link"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(Read("private"), "new");
  EXPECT_EQ(fs::status(folder_ / "private").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WrittenFile, StaysWhenItIsReadOnly) {
  std::ofstream(folder_ / "fixed") << "old";
  fs::permissions(folder_ / "fixed", fs::perms::owner_read);
  const auto written = Write("fixed");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kOutput);
  EXPECT_EQ(Read("fixed"), "old");
}

TEST_F(WrittenFile, HasOneTargetByManyNames) {
  fs::create_symlink("new", folder_ / "dangling");
  fs::create_symlink(".", folder_ / "here");
  const std::string name = folder_ / "new";
  EXPECT_TRUE(SameTarget(name, name));
  EXPECT_TRUE(SameTarget(name, folder_ / "." / "new"));
  EXPECT_TRUE(SameTarget(name, folder_ / "here" / "new"));
  EXPECT_TRUE(SameTarget(folder_ / "dangling", name));
  EXPECT_FALSE(SameTarget(name, folder_ / "newer"));
}

TEST_F(WrittenFile, GoesWithItsWriter) {
  {
    TemporaryFile file;
    ASSERT_EQ(file.Make(folder_, "begin-", ".end", 0600), 0);
    EXPECT_TRUE(fs::exists(folder_ / file.name()));
    EXPECT_TRUE(file.name().starts_with("begin-") && file.name().ends_with(".end"));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);  // "input"
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

TEST_F(WrittenFile, HasNothingOfADiscardedAnswer) {
  {
    const UniqueFd file(::open((folder_ / "answer").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    FdSink sink(file.get());
    sink.Write(VisibleText("half of an answer"));
    sink.Discard();
  }
  EXPECT_EQ(Read("answer"), "");
}

}  // namespace
}  // namespace memtool::commands
