#include "session/unmatched.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "memtool/profile/model/label_text.h"
#include "words/nearest.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxNames = 100'000;  // how many functions are searched
constexpr std::size_t kMaxKeys = 8;         // in a sentence
constexpr std::size_t kMaxValues = 4;

// The label keys of a recording, each with some values.
using LabelValues = std::map<std::string, std::set<std::string>>;

LabelValues GetValues(const Recording& recording) {
  LabelValues values;
  for (std::uint32_t set = 0; set < recording.label_set_count(); ++set) {
    for (const Label& label : recording.Labels(LabelSetId(set))) {
      std::set<std::string>& of_key = values[std::string(recording.Text(label.key))];
      if (!label.numeric && of_key.size() <= kMaxValues) {
        of_key.emplace(recording.Text(label.text));
      }
    }
  }
  return values;
}

// "device (cuda:0, cuda:1), kind (buffer)": what label filters work on.
std::string LabelsText(const Recording& recording) {
  const LabelValues values = GetValues(recording);
  std::string text;
  std::size_t keys = 0;
  for (const auto& [key, of_key] : values) {
    if (++keys > kMaxKeys) {
      text += fmt::format(", and {} more", values.size() - kMaxKeys);
      break;
    }
    text += (text.empty() ? "" : ", ") + key;
    std::string list;
    std::size_t listed = 0;
    for (const std::string& value : of_key) {
      list += (list.empty() ? "" : ", ") + (++listed > kMaxValues ? "…" : value);
    }
    text += list.empty() ? "" : " (" + list + ")";
  }
  return text.empty() ? "; the input has no labels" : "; labels here: " + text;
}

// Suggests names that may have been meant: patterns are mostly plain words.
std::string NamesText(const Recording& recording, std::string_view pattern) {
  std::vector<std::string> names;
  for (const Function& function : recording.functions) {
    names.emplace_back(recording.Text(function.name));
    if (names.size() == kMaxNames) {
      break;
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return DidYouMean(pattern, names, "");
}

constexpr std::array<std::pair<std::string_view, std::string FilterOptions::*>, 5> kOfNames{
    {{"focus", &FilterOptions::focus},
     {"ignore", &FilterOptions::ignore},
     {"hide", &FilterOptions::hide},
     {"show", &FilterOptions::show},
     {"show-from", &FilterOptions::show_from}}};

// Rows of `top` may be labels (Metadata::default_by), whose texts are no names of frames.
bool MatchesLabel(const Recording& recording, const std::string& pattern) {
  const auto filter = Filter::Compile({.tag_focus = pattern});
  return filter && View(recording, *filter).Unmatched().empty();
}

std::string HelpFor(std::string_view option, const View& view) {
  const auto* of_names =
      std::find_if(kOfNames.begin(), kOfNames.end(),
                   [option](const auto& entry) { return entry.first == option; });
  if (of_names != kOfNames.end()) {
    const bool has_tag_option = option == "focus" || option == "ignore";
    return NoFunctionHelp(view.recording(), view.filter_options().*(of_names->second),
                          has_tag_option ? fmt::format("--tag{}", option) : std::string{});
  }
  return option.starts_with("tag") || option == "device" ? LabelsText(view.recording())
                                                         : std::string{};
}

}  // namespace

std::string NoFunctionHelp(const Recording& recording, const std::string& pattern,
                           std::string_view label_option) {
  return !label_option.empty() && MatchesLabel(recording, pattern)
             ? fmt::format("; labels match: use {}", label_option)
             : NamesText(recording, pattern);
}

void Unmatched::Note(const View& view, std::string_view except) {
  std::vector<std::string_view> unmatched = view.Unmatched();
  std::erase(unmatched, except);
  if (!std::exchange(any_, true)) {
    for (const std::string_view option : unmatched) {
      options_.push_back({option, HelpFor(option, view)});
    }
    return;
  }
  std::erase_if(options_, [&](const Option& option) {
    return std::find(unmatched.begin(), unmatched.end(), option.name) == unmatched.end();
  });
}

std::vector<std::string> Unmatched::Lines() const {
  std::vector<std::string> lines;
  for (const Option& option : options_) {
    lines.push_back(fmt::format("--{} matched nothing{}", option.name, option.help));
  }
  return lines;
}

}  // namespace memtool::commands
