#include "ranks/names/process_names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "memtool/profile/base/paths.h"
#include "ranks/names/path_words.h"
#include "ranks/names/rank_names.h"

namespace memtool::commands {

namespace {

// What a path says of the process: its rank, or a machine's number: "host1", "pod_3".
std::string ProcessOf(std::string_view path, const RankIdentity& identity) {
  if (NamesProcess(identity)) {
    const auto text = [](const std::optional<std::int64_t>& number) {
      return number ? std::to_string(*number) : std::string();
    };
    return text(identity.rank) + "/" + text(identity.local_rank) + "/" + text(identity.node) + "/" +
           identity.host;
  }
  constexpr std::array<std::string_view, 4> kMachines{"host", "hostname", "machine", "pod"};
  const std::vector<PathWord> words = PathWords(path);
  for (std::size_t i = words.size(); i-- > 1;) {
    const bool apart = words[i - 1].kind == PathWord::Kind::kOther && words[i - 1].text != "/";
    const std::size_t word = i - (apart ? 2 : 1);
    if (words[i].kind == PathWord::Kind::kNumber && word < i &&
        std::find(kMachines.begin(), kMachines.end(), words[word].text) != kMachines.end()) {
      return words[i].text;
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> NamesOfProcesses(const std::vector<std::string>& paths) {
  std::vector<RankIdentity> identities(paths.size());
  if (paths.size() < 2 || !IdentifyByNames()(paths, identities)) {
    return std::vector<std::string>(paths.size());
  }
  std::set<std::string> processes;
  std::set<std::string_view> bases;
  bool known = true;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string process = ProcessOf(paths[i], identities[i]);
    known = known && !process.empty();
    processes.insert(process);
    bases.insert(BaseName(paths[i]));
  }
  if (!known || processes.size() < 2) {
    return std::vector<std::string>(paths.size());
  }
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const std::string& path : paths) {
    names.emplace_back(bases.size() == paths.size() ? BaseName(path) : std::string_view(path));
  }
  return names;
}

std::string_view ProcessNames::Of(std::string_view path) const {
  const auto at = std::find(paths_.begin(), paths_.end(), path) - paths_.begin();
  return static_cast<std::size_t>(at) < names_.size() ? names_[static_cast<std::size_t>(at)]
                                                      : std::string_view();
}

}  // namespace memtool::commands
