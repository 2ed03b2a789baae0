// Command lines that damaged and invented files go through.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"

namespace memtool::fuzz {

// FILE is the file in question, WHOLE the same file without damage, OTHER a sound pprof profile.
// `asks`: the command line names something that a sound file may lack (a moment, events, a second
// step, the sample type of another input, one row of ground truth), so that exit status 2 is an
// answer as well.
struct ChosenLine {
  std::string_view words;
  bool asks = false;
};
inline constexpr auto kChosenLines = std::to_array<ChosenLine>({
    {"top FILE"},
    {"top --strict --by line --cum --format json FILE"},
    {"top --frames all --by stack --format csv FILE"},
    {"top --at peak FILE", true},
    {"top --by bucket FILE", true},
    {"top --expected-sum @FILE OTHER", true},
    {"top --print-frames OTHER"},
    {"top --by line OTHER"},
    {"diff WHOLE FILE", true},
    {"diff FILE OTHER", true},
    {"diff --base-at start --at end --format json FILE", true},
    {"buckets --expected-sum 1GiB FILE", true},
    {"buckets --keywords FILE OTHER"},
    {"buckets --keywords FILE --multi all --entries 2 --format json OTHER"},
    {"account FILE", true},
    {"account --format json WHOLE FILE", true},
    {"account --capacity 1GiB --expected-sum @FILE OTHER", true},
    {"tags FILE"},
    {"tree FILE"},
    {"tree --frames all --format json FILE"},
    {"peek a FILE"},
    {"traces FILE"},
    {"traces --frames all --format jsonl FILE"},
    {"timeline FILE", true},
    {"timeline --format json --axis time FILE", true},
    {"steps FILE", true},
    {"steps --format json FILE", true},
    {"diff --align WHOLE FILE", true},
    {"diff --align --format json FILE OTHER", true},
    {"segments FILE", true},
    {"segments --at peak --format json FILE", true},
    {"events FILE", true},
    {"events --summary --format json FILE", true},
    {"events --stacks --from 1 --to 5 FILE", true},
    {"oom FILE"},
    {"ranks --all FILE"},
    {"ranks --format json WHOLE FILE"},
    {"index --strict FILE"},
    {"check --write-baseline - FILE"},
    {"check --baseline FILE OTHER"},
    {"check --budget FILE --format json OTHER"},
    {"whatif FILE"},
    {"whatif --change checkpoint:forward --change accumulate=2 FILE"},
    {"top --change batch/2 --at peak FILE"},
    {"whatif --process-limit 100MiB --format json FILE"},
    {"segments --conf expandable_segments:True FILE"},
    {"fit --x 1,2 WHOLE FILE", true},
    {"oom --format json WHOLE FILE", true},
    {"leaks WHOLE FILE", true},
    {"leaks --steps 3 FILE", true},
    {"info FILE"},
    {"info --strict --format json FILE"},
    {"dot FILE"},
    {"svg FILE"},
    {"web FILE"},
    {"raw FILE"},
    {"flame FILE"},
    {"flame --format json FILE"},
    {"convert --to json FILE"},
    {"convert --to folded FILE"},
    {"convert --to pprof FILE"},
    {"convert --to memtool FILE"},
    {"merge FILE WHOLE", true},
    {"cut --from event:1 FILE", true},
    {"cut --redact FILE", true},
    {"pprof -top FILE"},
    {"pprof -dot -lines FILE"},
    {"pprof -traces -diff_base=WHOLE FILE", true},
});
// `help` and `run` read no file (run's logs are read as all commands read them), and what goes into
// a page is packed, not read.
inline constexpr auto kReadNoFile =
    std::to_array<std::string_view>({"help", "run", "report", "open", "page"});

struct CommandLine {
  std::string words;
  bool asks = false;
};

// The lines above, and `NAME FILE` for every command that they do not name.
inline std::vector<CommandLine> CommandLines() {
  std::vector<CommandLine> lines;
  for (const ChosenLine& line : kChosenLines) {
    lines.push_back({std::string(line.words), line.asks});
  }
  for (const commands::CommandEntry& entry : commands::Commands()) {
    const std::string start = std::string(entry.name) + ' ';
    if (std::count(kReadNoFile.begin(), kReadNoFile.end(), entry.name) == 0 &&
        std::none_of(lines.begin(), lines.end(),
                     [&start](const CommandLine& line) { return line.words.starts_with(start); })) {
      lines.push_back({start + "FILE", true});
    }
  }
  return lines;
}

// "top --cum FILE" as three words.
inline std::vector<std::string> ToWords(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

}  // namespace memtool::fuzz
