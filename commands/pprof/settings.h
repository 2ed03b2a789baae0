// pprof's command line: its options with their defaults, and its own syntax.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"

namespace memtool::commands::pprof {

struct Settings {
  std::string report;  // "top", "tree", ...: the output format chosen
  std::string symbol;  // the expression of -peek
  std::vector<std::string> sources;
  std::vector<std::string> bases;
  std::vector<std::string> warnings;  // about the command line itself

  std::string output;
  std::string unit = "minimum";
  std::string source_path;
  std::string trim_path;
  std::string sample_index;
  std::string sort = "flat";
  std::string granularity = "functions";
  std::string build_id;
  std::string add_comment;

  std::string tagroot;
  std::string tagleaf;
  std::string focus;
  std::string ignore;
  std::string prune_from;
  std::string hide;
  std::string show;
  std::string show_from;
  std::string tagfocus;
  std::string tagignore;
  std::string tagshow;
  std::string taghide;

  double divide_by = 1;
  double nodefraction = 0.005;
  double edgefraction = 0.001;
  std::int64_t nodecount = -1;  // -1 = depends on the report

  bool diff_base = false;
  bool normalize = false;
  bool mean = false;
  bool relative_percentages = false;
  bool drop_negative = false;
  bool trim = true;
  bool noinlines = false;
  bool call_tree = false;
  bool compact_labels = false;
};

// Options may come before or after sources, with one dash or two, as -name=value or -name value;
// "--" ends them. Errors: kUsage, naming memtool's own way for what is not supported.
Result<Settings> ParseSettings(std::span<const std::string> args);

// Applies what a report requires: no trimming in peek, addresses in raw, node counts.
void ApplyReportDefaults(Settings& settings);

// The option list of --help: name, "VALUE" or empty, what it does.
struct OptionHelp {
  std::string_view group;
  std::string_view name;
  std::string_view value;
  std::string_view text;
};
std::span<const OptionHelp> OptionList();

}  // namespace memtool::commands::pprof
