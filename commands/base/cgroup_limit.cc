#include "base/cgroup_limit.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace memtool::commands {

namespace {

// One hierarchy with memory in it, see cgroups(7) and proc_pid_mountinfo(5).
struct Hierarchy {
  bool unified = false;  // version 2
  std::string folder;    // where it is mounted
  std::string root;      // the group that is mounted there; others are below it
};

bool HasWord(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (list.substr(at, end - at) == word) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

// "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup rw,memory": root and folder are the
// fourth and fifth words; after the dash come type, source and options.
std::vector<Hierarchy> MountedHierarchies() {
  std::vector<Hierarchy> found;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string skipped;
    Hierarchy each;
    words >> skipped >> skipped >> skipped >> each.root >> each.folder;
    while (words >> skipped && skipped != "-") {
    }
    std::string type;
    std::string source;
    std::string options;
    words >> type >> source >> options;
    each.unified = type == "cgroup2";
    if (each.unified || (type == "cgroup" && HasWord(options, "memory"))) {
      found.push_back(std::move(each));
    }
  }
  return found;
}

// The process's group in a hierarchy, from lines as "0::/user.slice" and "4:cpu,memory:/job_7".
std::string GroupOf(bool unified) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (unified ? line.starts_with("0::") : HasWord(controllers, "memory")) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

// A file that holds "max" has no number, and no limit.
std::optional<std::uint64_t> ReadLimit(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t limit = 0;
  return file >> limit ? std::optional(limit) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> CgroupLimit() {
  std::optional<std::uint64_t> least;
  for (const Hierarchy& hierarchy : MountedHierarchies()) {
    std::string group = GroupOf(hierarchy.unified);
    // In a container the mount is the group itself, or is seen as if it were.
    if (hierarchy.root != "/" && group.starts_with(hierarchy.root)) {
      group.erase(0, hierarchy.root.size());
    }
    const char* file = hierarchy.unified ? "/memory.max" : "/memory.limit_in_bytes";
    while (true) {
      while (group.ends_with('/')) {
        group.pop_back();
      }
      if (const auto limit = ReadLimit(hierarchy.folder + group + file)) {
        least = std::min(least.value_or(*limit), *limit);
      }
      if (group.empty()) {
        break;
      }
      group.erase(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
  }
  return least;
}

}  // namespace memtool::commands
