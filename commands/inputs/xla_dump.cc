#include "inputs/xla_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

namespace memtool::commands {

namespace {

namespace fs = std::filesystem;

// The best first.
constexpr std::array<std::string_view, 4> kEndings{
    ".hlo.pb", ".hlo.pb.gz", "-buffer-assignment.txt", "-memory-usage-report.txt"};
constexpr std::string_view kAfter = "after_optimizations";
// What follows a module's name, of the platforms that XLA compiles for.
constexpr std::array<std::string_view, 6> kPlatforms{".sm_",  ".gfx", ".cpu_",
                                                     ".gpu_", ".tpu", ".xpu"};

struct DumpName {
  std::string_view number;              // "module_0003", with a prefix before it
  std::string_view rest;                // ".jit_f.cpu_after_optimizations.hlo.pb"
  std::optional<std::size_t> ending{};  // of kEndings
};

// "[prefix.]module_0003.jit_f.…"; none for other names.
std::optional<DumpName> ParseName(std::string_view file) {
  constexpr std::string_view kModule = "module_";
  const std::size_t at = file.find(kModule);
  if (at == std::string_view::npos || (at > 0 && file[at - 1] != '.')) {
    return std::nullopt;
  }
  const std::size_t digits = at + kModule.size();
  const std::size_t dot = std::min(file.find_first_not_of("0123456789", digits), file.size());
  if (dot == digits || dot == file.size() || file[dot] != '.') {
    return std::nullopt;
  }
  DumpName name{.number = file.substr(0, dot), .rest = file.substr(dot)};
  for (std::size_t i = 0; i < kEndings.size(); ++i) {
    if (file.ends_with(kEndings[i]) && name.rest.find(kAfter) != std::string_view::npos) {
      name.ending = i;
    }
  }
  return name;
}

}  // namespace

std::vector<std::string> BestOfDump(const std::vector<std::string>& names) {
  struct Best {
    std::size_t ending = kEndings.size();
    std::size_t row = 0;
  };
  std::map<std::string, Best> programs;  // by folder and number
  std::vector<bool> left_out(names.size());
  std::size_t dumped = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const fs::path path(names[i]);
    const std::string file = path.filename().string();
    const auto parsed = ParseName(file);
    if (!parsed) {
      continue;
    }
    ++dumped;
    left_out[i] = true;
    Best& best = programs[(path.parent_path() / parsed->number).string()];
    if (parsed->ending && *parsed->ending < best.ending) {
      best = {.ending = *parsed->ending, .row = i};
    }
  }
  std::size_t found = 0;
  for (const auto& [key, best] : programs) {
    if (best.ending < kEndings.size()) {
      left_out[best.row] = false;
      ++found;
    }
  }
  // One file of a dump, or two of one program, were meant as they are.
  if (found == 0 || dumped < 2 || (names.size() == 2 && found == 1)) {
    return names;
  }
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!left_out[i]) {
      kept.push_back(names[i]);
    }
  }
  return kept;
}

std::vector<std::string> FindPrograms(const std::string& folder,
                                      const std::vector<std::string>& files) {
  std::vector<std::string> dumped;
  for (const std::string& file : files) {
    if (ParseName(file)) {
      dumped.push_back((fs::path(folder) / file).string());
    }
  }
  std::sort(dumped.begin(), dumped.end());
  std::vector<std::string> best = BestOfDump(dumped);
  std::erase_if(best, [](const std::string& name) {
    const std::string file = fs::path(name).filename().string();
    return !ParseName(file)->ending;
  });
  return best;
}

std::string DumpedProgram(const std::string& path) {
  const std::string file = fs::path(path).filename().string();
  const auto name = ParseName(file);
  if (!name || !name->ending) {
    return path;
  }
  std::string_view module = name->rest.substr(1, name->rest.find(kAfter) - 1);
  std::size_t end = module.size();
  for (const std::string_view platform : kPlatforms) {
    end = std::min(end, module.rfind(platform));
  }
  module = module.substr(0, end);
  return fmt::format("{} ({})", module, name->number);
}

}  // namespace memtool::commands
