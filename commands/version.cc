// What --version says.
#include <fmt/format.h>

#include "help/help.h"
#include "memtool/formats/left_out.h"
#include "memtool/formats/reader.h"
#include "memtool/formats/writer.h"

namespace memtool::commands {

namespace {

// "pprof, torch-snapshot".
template <class Formats>
std::string Names(const Formats& formats) {
  std::string text;
  for (const auto* format : formats) {
    text += (text.empty() ? "" : ", ") + std::string(format->name());
  }
  return text;
}

constexpr std::string_view Compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "an unknown compiler";
#endif
}

}  // namespace

std::string VersionLine() {
  return fmt::format("memtool {}\n", MEMTOOL_VERSION);
}

std::string VersionText() {
  std::string text = VersionLine();
  text += fmt::format("Build:     {}, {}\n", Compiler(), MEMTOOL_BUILD);
  text += fmt::format("Libraries: {}\n", MEMTOOL_LIBRARIES);
  text += fmt::format("Reads:     {}\n", Names(formats::Readers()));
  text += fmt::format("Writes:    {}\n", Names(formats::Writers()));
  for (const auto& names : {formats::ReadersLeftOut(), formats::WritersLeftOut()}) {
    if (!names.empty()) {
      text += fmt::format("Left out:  {}\n", fmt::join(names, ", "));
    }
  }
#ifdef MEMTOOL_PAGE_INSIDE
  text += "Page:      inside\n";
#endif
  return text;
}

}  // namespace memtool::commands
