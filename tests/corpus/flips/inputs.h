// What is damaged, and the commands that it goes through.
#pragma once

#include <span>
#include <string_view>

namespace memtool::flips {

// A format, as one or more small files of testdata that share its damages. `place`: where the
// program looks for the file, in the folder of the run. `mended`: the file's checksums are made
// right after each flip, so that what is behind them is seen.
struct Format {
  std::string_view name;
  std::string_view files;  // separated by spaces
  std::string_view place = "input";
  bool mended = false;
};
std::span<const Format> Formats();

// A command line: FILE is the damaged file, WHOLE the same file without damage, OTHER a sound pprof
// profile. `asks`: the command line names something that a sound file may lack (a moment, events, a
// second step, the sample type of another input, one row of ground truth), so that exit status 2 is
// an answer as well.
struct Line {
  std::string_view words;
  bool asks = false;
};
std::span<const Line> Lines();

// Commands that no line above has: `help` reads no file, `run` starts a program and reads the logs
// that it leaves as all commands read them.
bool ReadsNoFile(std::string_view command);

}  // namespace memtool::flips
