// The whole program from memory: any bytes as a file, through every command that reads one. The
// exit code must be a documented one, a failure must say something, and what is called JSON or CSV
// must be that.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command.h"
#include "common/command_lines.h"
#include "common/reading.h"
#include "common/strict_text.h"
#include "output/sink.h"
#include "targets.h"

namespace {

using namespace memtool::fuzz;

// Lines that are taken together lie this far apart: a prime, above their number.
constexpr std::size_t kStride = 1009;

using Words = std::vector<std::string>;

// Here every file is the input; pictures and browsers are other programs.
std::vector<Words> LinesOfOneFile() {
  std::vector<Words> lines;
  for (const CommandLine& line : CommandLines()) {
    Words words = ToWords(line.words);
    if (words[0] == "svg" || words[0] == "web") {
      continue;
    }
    for (std::string& word : words) {
      for (const std::string_view other : {"WHOLE", "OTHER"}) {
        if (const std::size_t at = word.find(other); at != std::string::npos) {
          word.replace(at, other.size(), "FILE");
        }
      }
    }
    lines.push_back(std::move(words));
  }
  return lines;
}

// Whether two words follow each other: an option and its value.
bool Says(const Words& words, std::string_view option, std::string_view value) {
  const auto found = std::find(words.begin(), words.end(), option);
  return found != words.end() && found + 1 != words.end() && *(found + 1) == value;
}

void CheckOutput(const Words& words, std::string_view out) {
  const bool json = Says(words, "--format", "json") || Says(words, "--to", "json");
  Require(!json || IsJson(out), "JSON that is none");
  Require(!Says(words, "--format", "csv") || IsCsv(out), "CSV that is none");
}

void Run(Words words, const std::string& file) {
  for (std::string& word : words) {
    if (const std::size_t at = word.find("FILE"); at != std::string::npos) {
      word.replace(at, 4, file);
    }
  }
  // Small limits: what the fuzzer looks for is behaviour, not size.
  if (words[0] != "pprof") {
    words.insert(words.begin() + 1, {"--max", "unpacked-bytes=16MiB"});
  }
  memtool::commands::StringSink out;
  memtool::commands::StringSink err;
  memtool::commands::Streams streams{out, err};
  const int code = memtool::commands::RunMain(words, streams);
  Require(code >= 0 && code <= 4, "an exit code that the manual does not have");
  Require(code == 0 || code == 1 || !err.text().empty(), "a failure without a word");
  if (code == 0 || code == 4) {
    CheckOutput(words, out.text());
  }
}

}  // namespace

int memtool::fuzz::FuzzCommands(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("input", MFD_CLOEXEC);
  static const std::string name = "/proc/self/fd/" + std::to_string(file);
  if (file < 0 || ::ftruncate(file, 0) != 0 ||
      ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  static const std::vector<Words> lines = LinesOfOneFile();
  // Fuzzing gets further with more inputs: a few lines of each, which follow from its bytes.
#ifdef MEMTOOL_REPLAY
  const std::size_t count = 40;
#else
  const std::size_t count = 6;
#endif
  const std::size_t first = std::hash<std::string_view>()(ToText(data, size));
  for (std::size_t i = 0; i < count; ++i) {
    Run(lines[(first + i * kStride) % lines.size()], name);
  }
  return 0;
}
