#include "inputs/trace_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "inputs/xla_dump.h"
#include "memtool/formats/profiler_folder.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFolderEntries = 100'000;  // of one folder

// Forms of a host's trace, the best first: only the first two have all that is known.
constexpr std::array<std::string_view, 4> kForms{".xplane.pb", ".xplane.pb.gz", ".trace.json.gz",
                                                 ".trace.json"};

struct Entries {
  std::vector<std::string> files;    // regular ones, also through links
  std::vector<std::string> folders;  // likewise
};

Error Unreadable(const fs::path& folder, const std::error_code& error) {
  return {.code = ErrorCode::kIo,
          .input = folder.string(),
          .message = "the folder cannot be read: " + error.message()};
}

// None where there is no such folder.
Result<std::optional<Entries>> ListEntries(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return std::nullopt;
  }
  Entries entries;
  std::size_t count = 0;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (++count > kMaxFolderEntries) {
      return Fail({.code = ErrorCode::kLimit,
                   .input = folder.string(),
                   .message = fmt::format("a folder of more than {} entries", kMaxFolderEntries),
                   .hint = "name the folder of one run, or files"});
    }
    std::string name = it->path().filename().string();
    if (name.starts_with('.')) {
      continue;
    }
    std::error_code broken;  // a link that leads nowhere, or round and round
    const fs::file_status status = it->status(broken);
    if (fs::is_regular_file(status)) {
      entries.files.push_back(std::move(name));
    } else if (fs::is_directory(status)) {
      entries.folders.push_back(std::move(name));
    }
  }
  if (error) {
    return Fail(Unreadable(folder, error));
  }
  return entries;
}

// One file per host, by the hosts' names.
std::vector<std::string> GetTraces(const fs::path& folder, const std::vector<std::string>& files) {
  std::map<std::string_view, std::size_t> best;  // form per host
  for (const std::string_view file : files) {
    for (std::size_t form = 0; form < kForms.size(); ++form) {
      if (file.size() > kForms[form].size() && file.ends_with(kForms[form])) {
        const auto host = file.substr(0, file.size() - kForms[form].size());
        const auto [known, added] = best.try_emplace(host, form);
        known->second = std::min(known->second, form);
        break;
      }
    }
  }
  std::vector<std::string> paths;
  paths.reserve(best.size());
  for (const auto& [host, form] : best) {
    paths.push_back((folder / fmt::format("{}{}", host, kForms[form])).string());
  }
  return paths;
}

bool IsTime(const std::string& run) {
  return run.front() >= '0' && run.front() <= '9';
}

// The newest run among the folders in `profile`; empty where none has traces.
Result<TraceFolder> NewestRun(const fs::path& profile, std::vector<std::string> runs) {
  std::sort(runs.begin(), runs.end(), [](const std::string& a, const std::string& b) {
    return std::tuple(IsTime(b), std::string_view(b)) < std::tuple(IsTime(a), std::string_view(a));
  });
  TraceFolder found;
  for (const std::string& run : runs) {
    auto entries = ListEntries(profile / run);
    if (!entries && !found.files.empty()) {
      continue;  // an older one
    }
    MEMTOOL_TRY(entries);
    auto files =
        *entries ? GetTraces(profile / run, (*entries)->files) : std::vector<std::string>{};
    if (files.empty()) {
      continue;
    }
    if (found.files.empty()) {
      found.files = std::move(files);
      found.run = run;
    } else {
      ++found.other_runs;
    }
  }
  return found;
}

// Whether `folder` is one of runs, however it was named.
bool HoldsRuns(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::canonical(folder, error);
  return !error && whole.filename() == "profile";
}

// Of each process one input: the tables that join, or one file of them.
TraceFolder GetTables(const std::string& folder) {
  TraceFolder found;
  for (const formats::ProfilerFolder& tables : formats::FindProfilerFolders(folder)) {
    found.files.push_back(tables.InputName());
    std::string note = fmt::format("{}: reading {}", tables.path, fmt::join(tables.read, ", "));
    if (!tables.left_out.empty()) {
      note += fmt::format("; left out: {}", fmt::join(tables.left_out, ", "));
    }
    found.notes.push_back(std::move(note));
  }
  return found;
}

// ".pickle": the end of the names of most files; none where they have no end.
std::pair<std::string, std::size_t> CommonEnd(const std::vector<std::string>& files) {
  std::map<std::string, std::size_t> ends;
  for (const std::string& file : files) {
    ++ends[fs::path(file).extension().string()];
  }
  const auto most = std::max_element(
      ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == ends.end() ? std::pair<std::string, std::size_t>()
                            : std::pair<std::string, std::size_t>(*most);
}

// A folder of other files is many inputs: which of them are meant, only their names can say.
Error NoTraces(const std::string& folder, const std::vector<std::string>& files) {
  Error error{.code = ErrorCode::kIo,
              .input = folder,
              .message = "a folder without a profiler's trace",
              .hint =
                  "looked for *.xplane.pb and *.trace.json.gz in it and in the runs of its "
                  "plugins/profile"};
  if (const auto [end, count] = CommonEnd(files); count > 0) {
    const fs::path all = fs::path(folder) / ("*" + end);
    error.message = fmt::format("a folder of {}, and no profiler's trace",
                                Counted(count, end.empty() ? "file" : end + " file"));
    error.hint = fmt::format(
        "name one, or all of a series: {}; memtool ranks {} compares the ranks of a job",
        all.string(), folder);
  }
  return error;
}

}  // namespace

Result<TraceFolder> FindTraces(const std::string& folder) {
  auto here = ListEntries(folder);
  MEMTOOL_TRY(here);
  if (*here) {
    TraceFolder found{.files = GetTraces(folder, (*here)->files)};
    if (found.files.empty() && HoldsRuns(folder)) {
      auto newest = NewestRun(folder, (*here)->folders);
      MEMTOOL_TRY(newest);
      found = *std::move(newest);
    }
    for (const char* below : {"plugins/profile", "profile"}) {
      if (!found.files.empty()) {
        break;
      }
      const fs::path profile = fs::path(folder) / below;
      auto runs = ListEntries(profile);
      MEMTOOL_TRY(runs);
      if (*runs) {
        auto newest = NewestRun(profile, (*runs)->folders);
        MEMTOOL_TRY(newest);
        found = *std::move(newest);
      }
    }
    if (found.files.empty()) {
      found.files = FindPrograms(folder, (*here)->files);
    }
    if (found.files.empty()) {
      found = GetTables(folder);
    }
    if (!found.files.empty()) {
      return found;
    }
  }
  return Fail(NoTraces(folder, *here ? (*here)->files : std::vector<std::string>{}));
}

Result<std::vector<std::string>> WithFoldersRead(const std::vector<std::string>& names,
                                                 bool keep_going, Streams& streams) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    std::error_code error;
    if (name == "-" || !fs::is_directory(name, error)) {
      all.push_back(name);
      continue;
    }
    auto found = FindTraces(name);
    if (!found && keep_going) {
      all.push_back(name);
      continue;
    }
    MEMTOOL_TRY(found);
    if (!found->run.empty()) {
      const std::string others =
          found->other_runs == 0
              ? std::string("the only one")
              : fmt::format("{} other run{}", found->other_runs, PluralS(found->other_runs));
      Warn(streams, fmt::format("{}: reading the newest run, {} ({} host{}; {})", name, found->run,
                                found->files.size(), PluralS(found->files.size()), others));
    }
    for (const std::string& note : found->notes) {
      Warn(streams, note);
    }
    all.insert(all.end(), std::make_move_iterator(found->files.begin()),
               std::make_move_iterator(found->files.end()));
  }
  return BestOfDump(all);
}

}  // namespace memtool::commands
