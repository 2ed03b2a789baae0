#include "memtool/formats/profiler_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 100'000;  // of one folder
constexpr std::array<std::string_view, 2> kOutputs{"ASCEND_PROFILER_OUTPUT",
                                                   "mindstudio_profiler_output"};

// How a table's file is called, in the order in which tables join; those at the end do not.
struct TableName {
  std::string_view begin;
  std::string_view end;
  bool joins = true;
};
constexpr std::array<TableName, 8> kTables{{{"ascend_pytorch_profiler", ".db", false},
                                            {"ascend_mindspore_profiler", ".db", false},
                                            {"msprof_", ".db", false},
                                            {"operator_memory", ".csv"},
                                            {"npu_module_mem", ".csv"},
                                            {"memory_record", ".csv"},
                                            {"npu_mem", ".csv"},
                                            {"static_op_mem", ".csv", false}}};

std::size_t KindOf(std::string_view name) {
  const auto* found = std::find_if(kTables.begin(), kTables.end(), [name](const TableName& table) {
    return name.starts_with(table.begin) && name.ends_with(table.end);
  });
  return static_cast<std::size_t>(found - kTables.begin());
}

struct Entries {
  std::vector<std::string> files;
  std::vector<std::string> folders;
};

// Sorted; without what cannot be read.
Entries ListEntries(const fs::path& folder) {
  Entries entries;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (std::size_t i = 0; !error && it != fs::directory_iterator() && i < kMaxEntries;
       it.increment(error), ++i) {
    std::error_code broken;  // a link that leads nowhere
    const fs::file_status status = it->status(broken);
    std::string name = it->path().filename().string();
    if (fs::is_regular_file(status)) {
      entries.files.push_back(std::move(name));
    } else if (fs::is_directory(status) && !name.starts_with('.')) {
      entries.folders.push_back(std::move(name));
    }
  }
  std::sort(entries.files.begin(), entries.files.end());
  std::sort(entries.folders.begin(), entries.folders.end());
  return entries;
}

// The tables that lie in `folder` itself.
std::optional<ProfilerFolder> TablesIn(const fs::path& folder) {
  std::vector<std::pair<std::size_t, std::string>> tables;
  for (std::string& name : ListEntries(folder).files) {
    const std::size_t kind = KindOf(name);
    if (kind < kTables.size()) {
      tables.emplace_back(kind, std::move(name));
    }
  }
  if (tables.empty()) {
    return std::nullopt;
  }
  std::sort(tables.begin(), tables.end());
  ProfilerFolder found{.path = folder.string(), .read = {}};
  for (auto& [kind, name] : tables) {
    const bool first = found.read.empty();
    const bool joins = first || (kTables[kind].joins && kTables[KindOf(found.read.front())].joins);
    (joins ? found.read : found.left_out).push_back(std::move(name));
  }
  return found;
}

}  // namespace

std::string ProfilerFolder::InputName() const {
  return read.size() == 1 ? (fs::path(path) / read.front()).string() : path;
}

bool IsProfilerOutput(std::string_view name) {
  return std::find(kOutputs.begin(), kOutputs.end(), name) != kOutputs.end();
}

std::optional<ProfilerFolder> FindProfilerFolder(const std::string& folder) {
  // A run of msprof has its database beside the folder of tables.
  auto tables = TablesIn(folder);
  for (std::size_t i = 0; !tables && i < kOutputs.size(); ++i) {
    tables = TablesIn(fs::path(folder) / kOutputs[i]);
  }
  return tables;
}

std::vector<ProfilerFolder> FindProfilerFolders(const std::string& folder) {
  std::vector<ProfilerFolder> found;
  if (auto own = FindProfilerFolder(folder)) {
    found.push_back(*std::move(own));
    return found;
  }
  for (const std::string& name : ListEntries(folder).folders) {
    const bool made_by_profiler =
        name.ends_with("_ascend_pt") || name.ends_with("_ascend_ms") || name.starts_with("PROF_");
    auto of_process = made_by_profiler ? FindProfilerFolder((fs::path(folder) / name).string())
                                       : std::optional<ProfilerFolder>();
    if (of_process) {
      found.push_back(*std::move(of_process));
    }
  }
  return found;
}

namespace {

constexpr std::string_view kMadeBy = "_ascend_";

// "node7_4242_20260101120000000_ascend_pt": host, process, time.
void TellByFolder(std::string_view name, Origin& origin) {
  std::string_view rest = name.substr(0, name.rfind(kMadeBy));
  const std::size_t time = rest.rfind('_');
  rest = rest.substr(0, time == std::string_view::npos ? 0 : time);
  const std::size_t pid = rest.rfind('_');
  if (pid == std::string_view::npos) {
    return;
  }
  const auto process = ParseNumber<std::int64_t>(rest.substr(pid + 1));
  if (process && *process > 0) {
    origin.process = origin.process ? origin.process : process;
    origin.host = origin.host.empty() ? std::string(rest.substr(0, pid)) : origin.host;
  }
}

}  // namespace

void TellProcess(const std::string& path, Origin& origin) {
  const fs::path whole = fs::path(path).lexically_normal();
  fs::path run = whole;
  while (!run.empty() && run.filename().string().find(kMadeBy) == std::string::npos) {
    const fs::path above = run.parent_path();
    run = above == run ? fs::path() : above;
  }
  if (run.empty()) {
    return;
  }
  TellByFolder(run.filename().string(), origin);
  if (!origin.rank.empty()) {
    return;
  }
  constexpr std::string_view kInfo = "profiler_info_";
  constexpr std::string_view kJson = ".json";
  for (const std::string& name : ListEntries(run).files) {
    if (name.starts_with(kInfo) && name.ends_with(kJson)) {
      const std::string_view rank =
          std::string_view(name).substr(kInfo.size(), name.size() - kInfo.size() - kJson.size());
      origin.rank = ParseNumber<std::uint32_t>(rank) ? std::string(rank) : std::string();
      return;
    }
  }
}

}  // namespace memtool::formats
