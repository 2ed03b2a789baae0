#include "judge.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <regex>

namespace memtool::flips {

namespace {

constexpr std::size_t kMaxGrownKb = 64U << 10U;  // for files of a few KiB
constexpr std::size_t kMaxLineLength = 2100;     // as Warn() cuts it

// A machine may be slow: MEMTOOL_TEST_SLOWNESS says how many times.
double MostSeconds() {
  const char* slowness = std::getenv("MEMTOOL_TEST_SLOWNESS");
  const double times = slowness == nullptr ? 1 : std::atof(slowness);  // NOLINT(cert-err34-c)
  return std::max(times, 1.0);
}

// Which exit codes are answers to a damaged file:
//  0  the damage changed what the file says, and not that it can be read
//  3  it cannot be read
//  4  --strict, and it was read around its damage
//  2  where an option asks for something that the damaged file no longer has (`asks`)
//  6  svg and web: there is no Graphviz on this program's PATH; all else has been done by then
//  1  `fit`, `diff --align`: it is no longer a recording of the same program
// Never 1 otherwise (nobody set a threshold) and never 5.
bool IsAnswer(const Line& line, int code) {
  const bool strict = line.words.find("--strict") != std::string_view::npos;
  const bool same = line.words.starts_with("fit ") || line.words.starts_with("diff --align ");
  const bool drawn = line.words.starts_with("svg ") || line.words.starts_with("web ");
  return code == 0 || code == 3 || (code == 4 && strict) || (code == 2 && line.asks) ||
         (code == 6 && drawn) || (code == 1 && same);
}

// Where in the input: an offset, a line, a line and column, a record or an address. Errors of the
// whole file have no place within it: it is empty, it lacks something, two readers may be meant, it
// is sound and of a kind that has no answer to this question, or it names or stands for a file that
// is not there.
bool HasPlace(const std::string& message) {
  static const std::regex place(
      "byte [0-9]|line [0-9]|:[0-9]+:[0-9]+: |\\[[0-9]+\\]|0x[0-9a-f]+|"
      "the input is empty|string_table: missing|: cannot be opened: |"
      ", which (memtool|this command) does not read|these are digests, and not|stands for a file "
      "that|several readers could|"
      "does not record the allocator's|does not record what was requested|"
      "holds no events of an allocator|holds no samples|is one moment and has no |"
      "its allocator cannot be replayed|the recording shows no |its calls keep nothing for |"
      "trace without memory events|nothing was recorded: call |without allocations (there are|has) "
      "no steps|nothing ran out of "
      "memory in "
      "it");
  return std::regex_search(message, place);
}

std::string WithoutNumbers(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit || kept.empty() || kept.back() != '#') {
      kept += digit ? '#' : c;
    }
  }
  return kept;
}

std::string FaultOfText(const Outcome& outcome) {
  const std::string& errors = outcome.errors;
  const auto lines = std::count(errors.begin(), errors.end(), '\n');
  if (!errors.empty() && (errors.back() != '\n' || !errors.starts_with("memtool: "))) {
    return "not a line of memtool: " + WithoutNumbers(errors);
  }
  if (errors.find("more memory") != std::string::npos) {
    return "memory: " + WithoutNumbers(errors);
  }
  if (outcome.code == 0) {
    return {};
  }
  // A graph that could be made, or runs that could be compared, may have their line about damage
  // first; and inputs of two kinds, which then cannot be compared, a line that says so.
  const bool two = outcome.code == 6 || outcome.code == 1 ||
                   (outcome.code == 3 && errors.find(": unlike inputs: ") != std::string::npos);
  if (lines != 1 && !(two && lines == 2)) {
    return std::to_string(lines) + " lines: " + WithoutNumbers(errors);
  }
  if (errors.size() > kMaxLineLength) {
    return "a long line: " + WithoutNumbers(errors);
  }
  if (outcome.code == 3 && !HasPlace(errors)) {
    return "no place: " + WithoutNumbers(errors);
  }
  return {};
}

}  // namespace

std::string FindFault(const Line& line, const Outcome& outcome) {
  if (!IsAnswer(line, outcome.code)) {
    return "exit " + std::to_string(outcome.code) + ": " + WithoutNumbers(outcome.errors);
  }
  if (outcome.seconds > MostSeconds()) {
    return "more than a second";
  }
  if (outcome.grown_kb > kMaxGrownKb) {
    return "more than 64 MiB";
  }
  return FaultOfText(outcome);
}

}  // namespace memtool::flips
