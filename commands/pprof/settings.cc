#include "pprof/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "base/command.h"
#include "memtool/profile/base/numbers.h"
#include "words/nearest.h"

namespace memtool::commands::pprof {

namespace {

// Where an option's value is stored. Without a place it is accepted and has no effect.
using Place =
    std::variant<std::monostate, bool Settings::*, std::int64_t Settings::*, double Settings::*,
                 std::string Settings::*, std::vector<std::string> Settings::*>;

enum class Kind : std::uint8_t {
  kReport,        // chooses the output
  kReportOfText,  // the same, with an expression
  kFlag,
  kValue,
  kChoice,       // its own name is the value of `place`
  kSampleIndex,  // an old name of -sample_index
  kNothing,      // a value that has no meaning here
  kNone          // not supported: `value` says what to do instead
};

struct Option {
  Kind kind;
  OptionHelp help;
  Place place;
};

constexpr std::string_view kReports = "Reports (one)";
constexpr std::string_view kGraph = "What is shown";
constexpr std::string_view kSelect = "What is counted";
constexpr std::string_view kValues = "Values";
constexpr std::string_view kOther = "Comparison and output";

using K = Kind;
using S = Settings;
constexpr auto kOptions = std::to_array<Option>({
    {K::kReport, {kReports, "top", "", "the functions that hold most"}, {}},
    {K::kReport, {kReports, "text", "", "the same"}, {}},
    {K::kReport, {kReports, "tree", "", "each function with its callers and callees"}, {}},
    {K::kReportOfText, {kReports, "peek", "REGEX", "the same for functions that match"}, {}},
    {K::kReport, {kReports, "traces", "", "every sample with its stack"}, {}},
    {K::kReport, {kReports, "tags", "", "sums by label"}, {}},
    {K::kReport, {kReports, "raw", "", "every record"}, {}},
    {K::kReport, {kReports, "comments", "", "the comments of the profile"}, {}},
    {K::kReport, {kReports, "dot", "", "the call graph, for Graphviz"}, {}},
    {K::kReport, {kReports, "svg", "", "the call graph as a picture"}, {}},
    {K::kReport, {kReports, "png", "", "the same as PNG"}, {}},
    {K::kReport, {kReports, "gif", "", "the same as GIF"}, {}},
    {K::kReport, {kReports, "pdf", "", "the same as PDF"}, {}},
    {K::kReport, {kReports, "ps", "", "the same as PostScript"}, {}},
    {K::kReport, {kReports, "web", "", "the picture in a browser"}, {}},
    {K::kReport, {kReports, "callgrind", "", "the call graph, for KCachegrind"}, {}},
    {K::kReport, {kReports, "proto", "", "the profile after all edits"}, {}},
    {K::kReport, {kReports, "topproto", "", "the rows of top as a profile"}, {}},
    {K::kChoice, {kGraph, "flat", "", "sort by own size (default)"}, &S::sort},
    {K::kChoice, {kGraph, "cum", "", "sort by size with callees"}, &S::sort},
    {K::kChoice, {kGraph, "functions", "", "one row per function name"}, &S::granularity},
    {K::kChoice, {kGraph, "filefunctions", "", "per function and file"}, &S::granularity},
    {K::kChoice, {kGraph, "files", "", "per file"}, &S::granularity},
    {K::kChoice, {kGraph, "lines", "", "per line"}, &S::granularity},
    {K::kChoice, {kGraph, "addresses", "", "per address"}, &S::granularity},
    {K::kFlag, {kGraph, "noinlines", "", "count inlined frames as their caller"}, &S::noinlines},
    {K::kFlag, {kGraph, "call_tree", "", "one node per call path"}, &S::call_tree},
    {K::kFlag, {kGraph, "compact_labels", "", "short headers"}, &S::compact_labels},
    {K::kValue, {kGraph, "nodecount", "N", "at most N rows or nodes"}, &S::nodecount},
    {K::kValue, {kGraph, "nodefraction", "F", "drop nodes below F of all"}, &S::nodefraction},
    {K::kValue, {kGraph, "edgefraction", "F", "drop edges below F of all"}, &S::edgefraction},
    {K::kFlag, {kGraph, "trim", "", "honour these three (default)"}, &S::trim},
    {K::kValue, {kSelect, "focus", "REGEX", "stacks with a match"}, &S::focus},
    {K::kValue, {kSelect, "ignore", "REGEX", "no stacks with a match"}, &S::ignore},
    {K::kValue, {kSelect, "hide", "REGEX", "leave matching frames out"}, &S::hide},
    {K::kValue, {kSelect, "show", "REGEX", "only matching frames"}, &S::show},
    {K::kValue, {kSelect, "show_from", "REGEX", "cut above the match"}, &S::show_from},
    {K::kValue, {kSelect, "prune_from", "REGEX", "cut below the match"}, &S::prune_from},
    {K::kValue, {kSelect, "tagfocus", "RULE", "samples with such labels"}, &S::tagfocus},
    {K::kValue, {kSelect, "tagignore", "RULE", "no samples with such"}, &S::tagignore},
    {K::kValue, {kSelect, "tagshow", "REGEX", "only labels with such keys"}, &S::tagshow},
    {K::kValue, {kSelect, "taghide", "REGEX", "no labels with such keys"}, &S::taghide},
    {K::kValue, {kSelect, "tagroot", "KEYS", "labels as outermost frames"}, &S::tagroot},
    {K::kValue, {kSelect, "tagleaf", "KEYS", "labels as innermost frames"}, &S::tagleaf},
    {K::kFlag, {kSelect, "drop_negative", "", "leave negative rows out"}, &S::drop_negative},
    {K::kValue, {kValues, "sample_index", "TYPE", "which values"}, &S::sample_index},
    {K::kSampleIndex, {kValues, "inuse_space", "", "-sample_index=inuse_space"}, {}},
    {K::kSampleIndex, {kValues, "inuse_objects", "", "-sample_index=inuse_objects"}, {}},
    {K::kSampleIndex, {kValues, "alloc_space", "", "-sample_index=alloc_space"}, {}},
    {K::kSampleIndex, {kValues, "alloc_objects", "", "-sample_index=alloc_objects"}, {}},
    {K::kSampleIndex, {kValues, "total_delay", "", "-sample_index=delay"}, {}},
    {K::kSampleIndex, {kValues, "contentions", "", "-sample_index=contentions"}, {}},
    {K::kSampleIndex, {kValues, "mean_delay", "", "-mean -sample_index=delay"}, {}},
    {K::kFlag, {kValues, "mean", "", "divide by the first value"}, &S::mean},
    {K::kValue, {kValues, "unit", "UNIT", "write sizes in this unit"}, &S::unit},
    {K::kValue, {kValues, "divide_by", "F", "divide all values"}, &S::divide_by},
    {K::kFlag,
     {kValues, "relative_percentages", "", "percentages of what is selected"},
     &S::relative_percentages},
    {K::kValue, {kOther, "base", "FILE", "subtract this profile"}, &S::bases},
    {K::kValue, {kOther, "diff_base", "FILE", "the same, percentages of it"}, &S::bases},
    {K::kFlag, {kOther, "normalize", "", "scale to the base's sums first"}, &S::normalize},
    {K::kValue, {kOther, "output", "FILE", "write to FILE"}, &S::output},
    {K::kValue, {kOther, "add_comment", "TEXT", "add to the comments"}, &S::add_comment},
    {K::kValue, {kOther, "buildid", "ID", "build id of the program"}, &S::build_id},
    {K::kValue, {kOther, "trim_path", "PATHS", "cut from file names"}, &S::trim_path},
    {K::kValue, {kOther, "source_path", "PATHS", "cut up to these"}, &S::source_path},
    {K::kNothing, {kOther, "symbolize", "HOW", "accepted; never symbolizes"}, {}},
    {K::kNothing, {kOther, "tools", "PATH", "accepted; runs no tools"}, {}},
    {K::kNothing, {kOther, "seconds", "N", "accepted; fetches nothing"}, {}},
    {K::kNothing, {kOther, "timeout", "N", "accepted; fetches nothing"}, {}},
    {K::kNone, {{}, "http", "memtool pprof -svg writes the graph, -web opens it", {}}, {}},
    {K::kNone, {{}, "no_browser", "memtool pprof -svg writes the graph", {}}, {}},
    {K::kNone, {{}, "list", "memtool top --by line --focus REGEX", {}}, {}},
    {K::kNone, {{}, "weblist", "memtool top --by line --focus REGEX", {}}, {}},
    {K::kNone,
     {{}, "disasm", "memtool reads no machine code; -addresses tells them apart", {}},
     {}},
    {K::kNone, {{}, "intel_syntax", "memtool reads no machine code", {}}, {}},
    {K::kNone, {{}, "eog", "memtool pprof -svg -output FILE, then eog FILE", {}}, {}},
    {K::kNone, {{}, "evince", "memtool pprof -pdf -output FILE, then evince FILE", {}}, {}},
    {K::kNone, {{}, "gv", "memtool pprof -ps -output FILE, then gv FILE", {}}, {}},
    {K::kNone,
     {{}, "kcachegrind", "memtool pprof -callgrind -output FILE, then kcachegrind FILE", {}},
     {}},
});

tl::unexpected<Error> Usage(std::string message, std::string hint = {}) {
  return Fail(ErrorCode::kUsage, std::move(message), std::move(hint));
}

std::optional<bool> ParseBool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue{"1", "t", "T", "true", "TRUE", "True"};
  constexpr std::array<std::string_view, 6> kFalse{"0", "f", "F", "false", "FALSE", "False"};
  if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) {
    return true;
  }
  if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) {
    return false;
  }
  return std::nullopt;
}

bool ReadNumber(std::string_view text, double& to) {
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  const auto number = memtool::ParseNumber<double>(text);
  to = number.value_or(to);
  return number.has_value();
}

// As Go reads it: 10, 0x10, 0b10, 0o10 and 010.
bool ReadNumber(std::string_view text, std::int64_t& to) {
  std::string digits(text.starts_with('-') ? "-" : "");
  text.remove_prefix(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  constexpr std::array<std::pair<std::string_view, int>, 7> kBases{
      {{"0x", 16}, {"0X", 16}, {"0b", 2}, {"0B", 2}, {"0o", 8}, {"0O", 8}, {"0", 8}}};
  int base = 10;
  for (const auto& [prefix, radix] : kBases) {
    if (text.size() > prefix.size() && text.starts_with(prefix)) {
      base = radix;
      text.remove_prefix(prefix.size());
      break;
    }
  }
  if (text.empty() || text[0] == '-') {
    return false;
  }
  digits += text;
  const auto number = memtool::ParseNumber<std::int64_t>(digits, base);
  to = number.value_or(to);
  return number.has_value();
}

class Parser {
 public:
  Result<Settings> Run(std::span<const std::string> args) {
    for (at_ = 0; at_ < args.size(); ++at_) {
      const std::string& arg = args[at_];
      if (arg.size() < 2 || arg[0] != '-') {
        settings_.sources.push_back(arg);
      } else if (arg == "--") {
        settings_.sources.insert(settings_.sources.end(),
                                 args.begin() + static_cast<std::ptrdiff_t>(at_) + 1, args.end());
        break;
      } else if (auto taken = TakeOption(args); !taken) {
        return Fail(std::move(taken.error()));
      }
    }
    return Finish();
  }

 private:
  Result<void> TakeOption(std::span<const std::string> args) {
    std::string name = args[at_].substr(args[at_].starts_with("--") ? 2 : 1);
    std::optional<std::string> value;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const auto* option = std::find_if(kOptions.begin(), kOptions.end(),
                                      [&](const Option& known) { return known.help.name == name; });
    if (option == kOptions.end()) {
      return Unknown(name);
    }
    if (option->kind == Kind::kNone) {
      return Usage("pprof's -" + name + " is not supported", std::string(option->help.value));
    }
    if (option->help.value.empty()) {
      const auto on = value ? ParseBool(*value) : std::optional(true);
      return on ? SetFlag(*option, *on)
                : Usage(fmt::format("-{}: '{}' is neither true nor false", name, *value));
    }
    if (!value) {
      if (at_ + 1 == args.size()) {
        return Usage(fmt::format("-{} needs a value", name));
      }
      value = args[++at_];
    }
    return SetValue(*option, *value);
  }

  static Result<void> Unknown(const std::string& name) {
    std::vector<std::string> names;
    names.reserve(kOptions.size());
    for (const Option& option : kOptions) {
      names.emplace_back(option.help.name);
    }
    return Usage(fmt::format("pprof has no option -{}{}", name, DidYouMean(name, names, "-")));
  }

  Result<void> SetFlag(const Option& option, bool on) {
    const std::string name(option.help.name);
    switch (option.kind) {
      case Kind::kReport:
        if (on) {
          reports_.emplace_back(name, "");
        }
        break;
      case Kind::kChoice:
        if (on) {
          choices_.emplace_back(std::get<std::string Settings::*>(option.place), name);
        }
        break;
      case Kind::kSampleIndex:
        old_names_.emplace_back(name, on);
        break;
      default:
        settings_.*std::get<bool Settings::*>(option.place) = on;
    }
    return {};
  }

  Result<void> SetValue(const Option& option, const std::string& value) {
    const std::string_view name = option.help.name;
    if (option.kind == Kind::kReportOfText) {
      if (!value.empty()) {
        reports_.emplace_back(name, value);
      }
      return {};
    }
    if (option.kind == Kind::kNothing) {
      return {};
    }
    bool good = true;
    if (const auto* text = std::get_if<std::string Settings::*>(&option.place)) {
      settings_.** text = value;
    } else if (const auto* whole = std::get_if<std::int64_t Settings::*>(&option.place)) {
      good = ReadNumber(value, settings_.**whole);
    } else if (const auto* number = std::get_if<double Settings::*>(&option.place)) {
      good = ReadNumber(value, settings_.**number);
    } else if (!value.empty()) {
      // Debian's pprof keeps the last of repeated bases.
      (name == "base" ? plain_bases_ : diff_bases_) = {value};
    }
    return good ? Result<void>() : Usage(fmt::format("-{}: '{}' is not a number", name, value));
  }

  Result<Settings> Finish() {
    if (settings_.sources.empty()) {
      return Usage("no profile source specified", "memtool pprof -top FILE");
    }
    if (reports_.size() > 1 && std::adjacent_find(reports_.begin(), reports_.end(),
                                                  std::not_equal_to<>()) != reports_.end()) {
      return Usage("must set at most one output format");
    }
    if (reports_.empty()) {
      return Usage("say which report: there is no interactive shell",
                   "-top, -tree, -peek REGEX, -traces, -tags, -raw, -dot, -svg, -web, ...");
    }
    std::tie(settings_.report, settings_.symbol) = reports_[0];
    MEMTOOL_TRY(TakeChoices());
    TakeOldNames();
    if (!plain_bases_.empty() && !diff_bases_.empty()) {
      return Usage("-base and -diff_base flags cannot both be specified");
    }
    settings_.diff_base = !diff_bases_.empty();
    settings_.bases = settings_.diff_base ? diff_bases_ : plain_bases_;
    if (settings_.normalize && settings_.bases.empty()) {
      return Usage("must have base profile to normalize by");
    }
    if (settings_.divide_by == 0) {
      return Usage("zero divisor specified");
    }
    return settings_;
  }

  Result<void> TakeChoices() {
    for (const auto& [place, name] : choices_) {
      for (const auto& [other_place, other] : choices_) {
        if (place == other_place && name != other) {
          return Usage(fmt::format("conflicting options set: [{} {}]", name, other));
        }
      }
      settings_.*place = name;
    }
    return {};
  }

  // The old names, in the order in which pprof checks them; the first one wins.
  void TakeOldNames() {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kOldNames{
        {{"total_delay", "delay"},
         {"mean_delay", "delay"},
         {"contentions", "contentions"},
         {"inuse_space", "inuse_space"},
         {"inuse_objects", "inuse_objects"},
         {"alloc_space", "alloc_space"},
         {"alloc_objects", "alloc_objects"}}};
    for (const auto& [name, type] : kOldNames) {
      const auto last = std::find_if(old_names_.rbegin(), old_names_.rend(),
                                     [name = name](const auto& old) { return old.first == name; });
      if (last == old_names_.rend() || !last->second) {
        continue;
      }
      settings_.mean = settings_.mean || name == "mean_delay";
      if (settings_.sample_index.empty()) {
        settings_.sample_index = type;
      } else {
        settings_.warnings.push_back(fmt::format("Multiple value selections, ignoring -{}", name));
      }
    }
  }

  Settings settings_;
  std::size_t at_ = 0;
  std::vector<std::pair<std::string, std::string>> reports_;
  std::vector<std::pair<std::string Settings::*, std::string>> choices_;
  std::vector<std::pair<std::string, bool>> old_names_;
  std::vector<std::string> plain_bases_;
  std::vector<std::string> diff_bases_;
};

}  // namespace

Result<Settings> ParseSettings(std::span<const std::string> args) {
  return Parser().Run(args);
}

void ApplyReportDefaults(Settings& settings) {
  const std::string& report = settings.report;
  bool trim = settings.trim && report != "peek";
  const bool list = report == "text" || report == "top" || report == "topproto";
  if (settings.nodecount == -1) {
    settings.nodecount = list ? 0 : 80;
  }
  if (report == "proto" || report == "raw" || report == "callgrind") {
    trim = false;
    settings.granularity = "addresses";
    settings.noinlines = false;
  }
  if (!trim) {
    settings.nodecount = 0;
    settings.nodefraction = 0;
    settings.edgefraction = 0;
  }
}

std::span<const OptionHelp> OptionList() {
  static const std::vector<OptionHelp> list_of_help = [] {
    std::vector<OptionHelp> list;
    for (const Option& option : kOptions) {
      if (option.kind != Kind::kNone) {
        list.push_back(option.help);
      }
    }
    return list;
  }();
  return list_of_help;
}

}  // namespace memtool::commands::pprof
