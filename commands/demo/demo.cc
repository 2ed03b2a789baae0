// memtool demo: files to try memtool on.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <boost/program_options/value_semantic.hpp>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/command.h"
#include "demo/demo_files.h"
#include "next/next.h"
#include "output/whole_file.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

class DemoCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[DIR]", .examples = "memtool demo\nmemtool demo /tmp/try"};
  }

  void Declare(po::options_description& options) override {
    po::options_description group("Demo");
    group.add_options()("file", po::value(&folders_)->value_name("DIR"),
                        "where to write (default memtool-demo; also as a plain argument)");
    options.add(group);
  }

  Result<ExitCode> Run(Streams& streams) override {
    if (folders_.size() > 1) {
      return Fail(ErrorCode::kUsage, "the files go into one folder");
    }
    const std::string folder = folders_.empty() ? "memtool-demo" : folders_.front();
    for (const DemoFile& file : DemoFiles()) {
      MEMTOOL_TRY(CheckFree(folder, file));
    }
    // The last one is the newest, which commands take when no file is named.
    std::time_t written = std::time(nullptr) - static_cast<std::time_t>(DemoFiles().size());
    for (const DemoFile& file : DemoFiles()) {
      MEMTOOL_TRY(Write(folder, file, ++written, streams));
    }
    streams.out.Write(VisibleText::Lines(Text(folder, streams.out.TerminalWidth())));
    return ExitCode::kOk;
  }

 private:
  static std::string PathOf(const std::string& folder, const DemoFile& file) {
    return folder + "/" + std::string(file.name);
  }

  // What somebody else wrote under the same name stays.
  static Result<void> CheckFree(const std::string& folder, const DemoFile& file) {
    const std::string path = PathOf(folder, file);
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
      return {};
    }
    std::ifstream there(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(there), {}};
    if (S_ISREG(status.st_mode) && there && bytes == file.bytes) {
      return {};
    }
    return Fail({.code = ErrorCode::kUsage,
                 .input = path,
                 .message = "is there already, with something else in it",
                 .hint = "memtool demo DIR takes another folder"});
  }

  static Result<void> Write(const std::string& folder, const DemoFile& file, std::time_t written,
                            Streams& streams) {
    const std::string path = PathOf(folder, file);
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
    if (failed) {
      return Fail(NotWritable(folder, failed.value()));
    }
    MEMTOOL_TRY(WriteWholeFile(path, file.bytes, streams));
    const std::array<timespec, 2> times{{{.tv_sec = written}, {.tv_sec = written}}};
    (void)::utimensat(AT_FDCWD, path.c_str(), times.data(), 0);
    return {};
  }

  static std::string Text(const std::string& folder, unsigned width) {
    std::vector<NextStep> steps{{.command = "cd " + ShellName(folder), .why = {}}};
    for (const DemoFile& file : DemoFiles()) {
      if (!file.question.empty()) {
        const std::string_view name = file.question.substr(0, file.question.find(' '));
        const CommandEntry* entry = FindCommand(name);
        entry = entry == nullptr ? FindCommand("overview") : entry;
        steps.push_back({fmt::format("memtool {}", file.question), entry->summary});
      }
    }
    return fmt::format("{} written to {}\n", Counted(DemoFiles().size(), "file"), folder) +
           NextText(steps, width);
  }

  std::vector<std::string> folders_;
};

}  // namespace

std::unique_ptr<Command> MakeDemo() {
  return std::make_unique<DemoCommand>();
}

}  // namespace memtool::commands
