// The files of `memtool demo`, which are inside of the program; made from files.txt.
#pragma once

#include <span>
#include <string_view>

namespace memtool::commands {

struct DemoFile {
  std::string_view name;  // with its folders
  std::string_view bytes;
  std::string_view question;  // a command line about it, without "memtool"; may be empty
};

std::span<const DemoFile> DemoFiles();

}  // namespace memtool::commands
