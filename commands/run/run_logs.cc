#include "run/run_logs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "../capture/wire.h"
#include "memtool/formats/open.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/replay/replay.h"

namespace memtool::commands {

namespace {

namespace fs = std::filesystem;

// Larger logs are named, not summed up: reading them would delay the end of a job.
constexpr std::uintmax_t kMaxReadBytes = std::uintmax_t{512} << 20U;
constexpr std::string_view kEnding = ".mtcap";

// The beginning of a name that does not depend on the process.
struct Fixed {
  std::string text;
  bool whole = true;  // it is the whole name
};

Fixed FixedPart(std::string_view pattern) {
  Fixed fixed;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      fixed.text += pattern[i];
      continue;
    }
    ++i;
    if (pattern[i] == 'h' || pattern[i] == 'p' || pattern[i] == 'r') {
      // Without a rank the dot before it is left out.
      if (pattern[i] == 'r' && fixed.text.ends_with('.')) {
        fixed.text.pop_back();
      }
      fixed.whole = false;
      return fixed;
    }
    fixed.text += pattern[i];
  }
  return fixed;
}

std::vector<fs::path> PathsIn(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(prefix)) {
      entries.push_back(at->path());
    }
  }
  return entries;
}

std::vector<fs::path> Folders(const std::string& pattern) {
  std::vector<fs::path> folders{"/"};
  std::error_code error;
  for (const fs::path& part : fs::path(pattern).parent_path().relative_path()) {
    const Fixed fixed = FixedPart(part.string());
    std::vector<fs::path> next;
    for (const fs::path& folder : folders) {
      if (fixed.whole) {
        next.push_back(folder / fixed.text);
        continue;
      }
      for (const fs::path& entry : PathsIn(folder, fixed.text)) {
        if (fs::is_directory(entry, error)) {
          next.push_back(entry);
        }
      }
    }
    folders = std::move(next);
  }
  return folders;
}

bool IsOfRun(const fs::path& path, std::uint64_t run) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return false;
  }
  std::ifstream in(path, std::ios::binary);
  wire::Header header{};
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  return in.gcount() == static_cast<std::streamsize>(sizeof header) &&
         header.magic == wire::kMagic && header.run == run;
}

}  // namespace

std::vector<fs::path> FindRunLogs(const std::string& pattern, std::uint64_t run) {
  // If the name was taken, a number was inserted before its ending.
  std::string prefix = FixedPart(fs::path(pattern).filename().string()).text;
  if (prefix.ends_with(kEnding)) {
    prefix.resize(prefix.size() - kEnding.size());
  }
  std::vector<fs::path> logs;
  for (const fs::path& folder : Folders(pattern)) {
    for (const fs::path& entry : PathsIn(folder, prefix)) {
      if (IsOfRun(entry, run)) {
        logs.push_back(entry);
      }
    }
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

std::string WhyNoLog(const std::string& pattern) {
  const std::vector<fs::path> folders = Folders(pattern);
  if (folders.empty()) {
    return fmt::format("no log was written: there is no folder {}",
                       fs::path(pattern).parent_path().string());
  }
  // With one folder it is known where a log would be.
  if (folders.size() == 1 && ::access(folders.front().c_str(), W_OK | X_OK) != 0) {
    return fmt::format("no log can be written in {}: {}", folders.front().string(),
                       std::strerror(errno));
  }
  return "no log was written: no device allocation was seen, unless a message above says otherwise";
}

std::string SummarizeLog(const fs::path& log) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(log, error);
  if (size > kMaxReadBytes) {
    return fmt::format("{} of events", FormatSize(static_cast<std::int64_t>(size)));
  }
  const auto recording = formats::OpenRecording(log.string());
  if (!recording) {
    return ToString(recording.error());
  }
  const History& history = *recording->history;
  std::string text =
      fmt::format("{} events", FormatCount(static_cast<std::int64_t>(history.events.size())));
  for (const Trace& trace : history.traces) {
    const TraceSummary summary = Replay(*recording, trace).Summarize();
    text += fmt::format(", {}{}: peak {}, end {}{}", trace.device < 0 ? "" : "device ", trace.name,
                        FormatTotal(summary.peak_bytes), FormatTotal(summary.end_bytes),
                        summary.ooms.empty() ? "" : ", OUT OF MEMORY");
  }
  for (const Diagnostic& note : recording->diagnostics) {
    if (note.severity != Severity::kNote) {
      text += note.count == 1 ? "; " : fmt::format("; {}: ", note.count);
      text += note.message;
    }
  }
  return text;
}

}  // namespace memtool::commands
