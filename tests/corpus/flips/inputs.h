// What is damaged.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace memtool::flips {

// A format, as one or more small files of testdata that share its damages. `place`: where the
// program looks for the file, in the folder of the run. `mended`: the file's checksums are made
// right after each flip, so that what is behind them is seen.
struct Format {
  std::string name;
  std::string files;  // separated by spaces
  std::string place = "input";
  bool repaired = false;
};

// Those that need more than one file, and every reader with a folder of its name in testdata.
std::vector<Format> Formats(const std::filesystem::path& testdata);

}  // namespace memtool::flips
