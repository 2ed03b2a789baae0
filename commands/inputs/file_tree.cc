#include "inputs/file_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "memtool/formats/profiler_folder.h"
#include "memtool/profile/base/natural_order.h"

namespace memtool::commands {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 2'000'000;
constexpr int kDeepest = 64;

// How names of inputs end; which format a file has is decided by its bytes.
constexpr std::array<std::string_view, 19> kEnds{
    ".pickle", ".pkl",  ".prof",  ".pb",  ".pb.gz",   ".json", ".json.gz", ".jsonl",    ".gz",
    ".zst",    ".html", ".mtcap", ".csv", ".memtool", ".hlo",  ".sqlite",  ".tfevents", ".wandb"};

bool MayBeInput(std::string_view name) {
  // TensorBoard puts time, host and process behind its word:
  // "events.out.tfevents.1790000000.n1.7.0".
  return name.find(".tfevents.") != std::string_view::npos ||
         std::any_of(kEnds.begin(), kEnds.end(),
                     [name](std::string_view end) { return name.ends_with(end); });
}

class Walk {
 public:
  explicit Walk(FileTree& tree) : tree_(tree) {}

  Result<void> Into(const fs::path& top) {
    std::vector<std::string> found;
    std::error_code error;
    fs::recursive_directory_iterator it(top, error);
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      if (++entries_ > kMaxEntries) {
        return Fail({.code = ErrorCode::kLimit,
                     .input = top.string(),
                     .message = fmt::format("more than {} entries below it", kMaxEntries),
                     .hint = "name folders further down, or give a list with --files-from"});
      }
      const std::string name = it->path().filename().string();
      std::error_code broken;  // a link that leads nowhere is no file
      if (name.starts_with('.') || TakeTables(*it, found)) {
        it.disable_recursion_pending();
      } else if (it->is_directory(broken)) {
        if (it.depth() >= kDeepest) {
          return Fail({.code = ErrorCode::kLimit,
                       .input = it->path().string(),
                       .message = fmt::format("folders more than {} deep", kDeepest)});
        }
      } else if (it->is_regular_file(broken)) {
        Take(it->path().lexically_normal().string(), name, found);
      }
    }
    if (error) {
      return Fail({.code = ErrorCode::kIo,
                   .input = top.string(),
                   .message = "the folder cannot be read: " + error.message()});
    }
    std::sort(found.begin(), found.end(), NaturalLess);
    for (std::string& path : found) {
      tree_.files.push_back({std::move(path), false});
    }
    return {};
  }

 private:
  // A folder of tables of Ascend's profilers is one input, or has one in it.
  bool TakeTables(const fs::directory_entry& entry, std::vector<std::string>& found) {
    std::error_code broken;
    if (!formats::IsProfilerOutput(entry.path().filename().string()) ||
        !entry.is_directory(broken)) {
      return false;
    }
    const auto tables = formats::FindProfilerFolder(entry.path().string());
    if (tables) {
      found.push_back(tables->InputName());
    }
    return tables.has_value();
  }

  void Take(std::string path, const std::string& name, std::vector<std::string>& found) {
    if (MayBeInput(name)) {
      found.push_back(std::move(path));
    } else {
      const std::size_t dot = name.rfind('.');
      ++tree_.others[dot == std::string::npos ? name : name.substr(dot)];
    }
  }

  FileTree& tree_;
  std::size_t entries_ = 0;
};

}  // namespace

Result<FileTree> FindFiles(const std::vector<std::string>& names) {
  FileTree tree;
  Walk walk(tree);
  for (const std::string& name : names) {
    std::error_code error;
    if (name != "-" && fs::is_directory(name, error)) {
      MEMTOOL_TRY(walk.Into(name));
    } else {
      tree.files.push_back({name, true});
    }
  }
  return tree;
}

}  // namespace memtool::commands
