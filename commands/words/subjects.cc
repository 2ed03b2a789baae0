#include "words/subjects.h"

#include <array>
#include <cstddef>

namespace memtool::commands {

namespace {

// In the order of Subject.
constexpr std::array<std::string_view, 29> kOptions{
    "",  // kNone
    "--at",
    "--base-at",
    "--from",
    "--to",
    "--device",
    "--by",
    "--axis time",
    "--step-mark",
    "--steps",
    "--multi error",
    "--multi first",
    "--keywords",
    "--focus",
    "--ignore",
    "--hide",
    "--show",
    "--show-from",
    "--prune-from",
    "--tagfocus",
    "--tagignore",
    "--tagshow",
    "--taghide",
    "--input-format",
    "memtool info",
    "memtool diff",
    "memtool timeline --format json",
    "memtool oom",
    "--limit memory=SIZE, see memtool help limits",
};
static_assert(kOptions.size() == static_cast<std::size_t>(Subject::kMemoryLimit) + 1);

std::string_view OptionOf(Subject subject) {
  return kOptions.at(static_cast<std::size_t>(subject));
}

}  // namespace

std::string Worded(const Error& error) {
  return ToString(error, OptionOf);
}

}  // namespace memtool::commands
