#include "memtool/profile/select/view.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "memtool/profile/base/device_name.h"
#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/filter.h"
#include "select/compiled_filter.h"

namespace memtool {

namespace {

bool Match(const std::unique_ptr<RE2>& regex, std::string_view text) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *regex);
}

std::vector<std::string> SplitKeys(std::string_view text) {
  std::vector<std::string> keys;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (comma != 0) {
      keys.emplace_back(text.substr(0, comma));
    }
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return keys;
}

}  // namespace

// One regular expression matched once per text, then asked per frame.
class View::FrameMatcher {
 public:
  FrameMatcher(const Recording& recording, const std::unique_ptr<RE2>& regex)
      : recording_(recording), given_(regex != nullptr) {
    if (!given_) {
      return;
    }
    OncePerText matches([&](StringId text) { return Match(regex, recording.Text(text)); });
    for (const Function& function : recording.functions) {
      functions_.push_back(static_cast<char>(matches(function.name) || matches(function.filename)));
    }
    for (const Mapping& mapping : recording.mappings) {
      mappings_.push_back(static_cast<char>(matches(mapping.filename)));
    }
  }

  [[nodiscard]] bool given() const { return given_; }
  [[nodiscard]] bool Matches(const Line& line) const {
    return line.function.valid() && functions_[line.function.value()] != 0;
  }
  [[nodiscard]] bool MatchesMapping(const Location& location) const {
    return location.mapping.valid() && mappings_[location.mapping.value()] != 0;
  }
  [[nodiscard]] bool Matches(const Location& location) const {
    const auto lines = recording_.Lines(location);
    return MatchesMapping(location) ||
           std::any_of(lines.begin(), lines.end(), [this](const Line& l) { return Matches(l); });
  }

 private:
  const Recording& recording_;
  bool given_;
  std::vector<char> functions_;
  std::vector<char> mappings_;
};

View::View(const Recording& recording, const Filter& filter)
    : recording_(recording),
      filter_(*filter.compiled_),
      roots_(SplitKeys(filter_.options.tag_root)),
      leaves_(SplitKeys(filter_.options.tag_leaf)) {
  one_line_each_ = recording.lines.size() == recording.locations.size();
  MatchLocations();
  MatchLabels();
  GroupLabels();
  ClassifyLines();
}

const FilterOptions& View::filter_options() const {
  return filter_.options;
}

void View::MatchLocations() {
  const Filter::Compiled& f = filter_;
  filters_frames_ = f.focus || f.ignore || f.hide || f.show || f.show_from || f.prune_from ||
                    f.drop_frames || f.options.rules.needs_stack;
  if (!filters_frames_) {
    return;
  }
  locations_.resize(recording_.locations.size());
  line_hidden_.resize(recording_.lines.size(), 0);
  if (f.drop_frames) {
    MarkDropFrames();
  }
  MarkFocus(FrameMatcher(recording_, f.focus), FrameMatcher(recording_, f.ignore));
  // In pprof's order: each step sees what the steps before left visible.
  if (f.hide) {
    hide_matched_ = HideLines(FrameMatcher(recording_, f.hide), true);
  }
  if (f.show) {
    show_matched_ = HideLines(FrameMatcher(recording_, f.show), false);
  }
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const auto hidden = HiddenLines(recording_.locations[i]);
    locations_[i].hidden = std::all_of(hidden.begin(), hidden.end(), [](char c) { return c != 0; });
  }
  if (f.show_from) {
    MarkShowFrom(FrameMatcher(recording_, f.show_from));
  }
  if (f.prune_from) {
    MarkPruneFrom();
  }
}

std::span<char> View::HiddenLines(const Location& location) {
  return std::span(line_hidden_).subspan(location.first_line, location.line_count);
}

void View::MarkFocus(const FrameMatcher& focus, const FrameMatcher& ignore) {
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const Location& location = recording_.locations[i];
    if (ignore.given() && ignore.Matches(location)) {
      locations_[i].ignore = ignore_matched_ = true;
    } else if (!focus.given() || focus.Matches(location)) {
      locations_[i].focus = focus_matched_ = true;
    }
  }
}

// Hides the lines that match (or that do not); true when any matched.
bool View::HideLines(const FrameMatcher& matcher, bool hide_matches) {
  bool any = false;
  const bool needs_symbol = !hide_matches && filter_.options.rules.show_needs_symbol;
  for (const Location& location : recording_.locations) {
    const auto lines = recording_.Lines(location);
    const auto hidden = HiddenLines(location);
    const bool whole =
        matcher.MatchesMapping(location) && !(needs_symbol && recording_.Unsymbolized(location));
    for (std::size_t k = 0; k < lines.size(); ++k) {
      const bool match = whole || matcher.Matches(lines[k]);
      any = any || (match && hidden[k] == 0);
      hidden[k] = static_cast<char>(hidden[k] != 0 || match == hide_matches);
    }
  }
  return any;
}

// Marks locations that match, and hides the callers that were inlined outside the match.
void View::MarkShowFrom(const FrameMatcher& matcher) {
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const Location& location = recording_.locations[i];
    const auto lines = recording_.Lines(location);
    const auto hidden = HiddenLines(location);
    std::size_t end = 0;  // one past the outermost match
    for (std::size_t k = 0; k < lines.size(); ++k) {
      end = hidden[k] == 0 && matcher.Matches(lines[k]) ? k + 1 : end;
    }
    const bool whole = matcher.MatchesMapping(location);
    locations_[i].show_from = whole || end > 0;
    show_from_matched_ = show_from_matched_ || locations_[i].show_from;
    if (!whole && end > 0) {
      std::fill(hidden.begin() + static_cast<std::ptrdiff_t>(end), hidden.end(), char{1});
    }
  }
}

// Marks locations that match, and hides what was inlined into the match.
void View::MarkPruneFrom() {
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const Location& location = recording_.locations[i];
    const auto lines = recording_.Lines(location);
    const auto hidden = HiddenLines(location);
    for (std::size_t k = 0; k < lines.size() && !locations_[i].prune_from; ++k) {
      if (hidden[k] != 0 || !lines[k].function.valid()) {
        continue;
      }
      const std::string_view name =
          recording_.Text(recording_.functions[lines[k].function.value()].name);
      // pprof matches without arguments and without a leading dot.
      if (!name.empty() && Match(filter_.prune_from, WithoutArguments(name))) {
        locations_[i].prune_from = true;
        std::fill_n(hidden.begin(), k, char{1});
      }
    }
  }
}

// Marks locations whose frames are to be dropped, and hides what was inlined into them.
void View::MarkDropFrames() {
  const auto matches = [this](const Line& line, const std::unique_ptr<RE2>& regex) {
    if (regex == nullptr || !line.function.valid()) {
      return false;
    }
    const auto name = recording_.Text(recording_.functions[line.function.value()].name);
    return !name.empty() && Match(regex, WithoutArguments(name));
  };
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const Location& location = recording_.locations[i];
    const auto lines = recording_.Lines(location);
    std::size_t k = lines.size();
    while (k > 0 && (!matches(lines[k - 1], filter_.drop_frames) ||
                     matches(lines[k - 1], filter_.keep_frames))) {
      --k;
    }
    locations_[i].drop = k > 0;
    locations_[i].drop_whole = k > 0 && k == lines.size();
    if (k < lines.size()) {
      std::fill_n(HiddenLines(location).begin(), k, char{1});
    }
  }
}

bool View::MatchesTagShow(StringId key) const {
  return !filter_.tag_show || Match(filter_.tag_show, recording_.Text(key));
}
bool View::MatchesTagHide(StringId key) const {
  return filter_.tag_hide && Match(filter_.tag_hide, recording_.Text(key));
}
bool View::MatchesTagFocus(LabelSetId labels) const {
  return !filter_.tag_focus || filter_.tag_focus->Matches(recording_, labels);
}
bool View::MatchesTagIgnore(LabelSetId labels) const {
  return filter_.tag_ignore && filter_.tag_ignore->Matches(recording_, labels);
}

void View::MatchLabels() {
  const std::size_t sets = recording_.label_set_count();
  keep_labels_.assign(sets, 1);
  for (std::uint32_t i = 0; i < sets; ++i) {
    const LabelSetId set(i);
    if (filter_.tag_focus) {
      const bool match = filter_.tag_focus->Matches(recording_, set);
      keep_labels_[i] = static_cast<char>(match);
      tag_focus_matched_ = tag_focus_matched_ || match;
    }
    if (!filter_.options.device.empty()) {
      const auto labels = recording_.Labels(set);
      const bool match = std::any_of(labels.begin(), labels.end(), [this](const Label& label) {
        return recording_.Text(label.key) == "device" &&
               DeviceMatches(recording_.Text(label.text), filter_.options.device);
      });
      keep_labels_[i] = static_cast<char>(keep_labels_[i] != 0 && match);
      device_matched_ = device_matched_ || match;
    }
    if (filter_.tag_ignore && filter_.tag_ignore->Matches(recording_, set)) {
      keep_labels_[i] = 0;
      tag_ignore_matched_ = true;
    }
  }
}

void View::GroupLabels() {
  group_roots_.resize(1);
  group_leaves_.resize(1);
  if (!has_label_frames()) {
    return;
  }
  group_roots_.clear();
  group_leaves_.clear();
  std::map<std::vector<std::string>, std::uint32_t> known;
  groups_.resize(recording_.label_set_count());
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    std::vector<std::string> values;
    for (const auto* keys : {&roots_, &leaves_}) {
      for (const std::string& key : *keys) {
        values.push_back(LabelValues(recording_, LabelSetId(i), key));
      }
    }
    const auto [it, added] = known.emplace(values, static_cast<std::uint32_t>(known.size()));
    groups_[i] = it->second;
    if (added) {
      std::vector<LabelFrame> roots;
      for (std::size_t k = 0; k < roots_.size(); ++k) {
        roots.push_back({values[k], roots_[k]});
      }
      std::vector<LabelFrame> leaves;
      for (std::size_t k = 0; k < leaves_.size(); ++k) {
        leaves.push_back({values[roots_.size() + k], leaves_[k]});
      }
      group_roots_.push_back(std::move(roots));
      group_leaves_.push_back(std::move(leaves));
    }
  }
}

bool View::PassesFocus(std::span<const LocationId> stack) const {
  const bool name_filters = filter_.focus || filter_.ignore || filter_.hide || filter_.show ||
                            filter_.options.rules.needs_stack;
  if (!name_filters) {
    return true;
  }
  bool focused = false;
  bool visible = false;
  for (const LocationId id : stack) {
    const LocationMark& mark = locations_[id.value()];
    if (mark.ignore) {
      return false;
    }
    focused = focused || mark.focus;
    visible = visible || !mark.hidden;
  }
  return focused && visible;
}

// How many of the innermost locations drop-frames removes: none outside the first frame, from the
// root, that it does not match.
std::size_t View::CutDropped(std::span<const LocationId> stack) const {
  bool user = false;
  for (std::size_t i = stack.size(); i > 0; --i) {
    const LocationMark& mark = locations_[stack[i - 1].value()];
    if (mark.drop && user) {
      return mark.drop_whole ? i : i - 1;
    }
    user = user || !mark.drop;
  }
  return 0;
}

// What show-from and prune-from leave of a stack; may be empty only when nothing matched show-from.
std::span<const LocationId> View::CutRange(std::span<const LocationId> stack) const {
  if (filter_.show_from) {
    std::size_t end = stack.size();
    const auto shown = [this](LocationId id) {
      const LocationMark& mark = locations_[id.value()];
      return mark.show_from && !mark.hidden;
    };
    while (end > 0 && !shown(stack[end - 1])) {
      --end;
    }
    stack = stack.first(end);
  }
  if (filter_.prune_from) {
    const auto pruned = std::find_if(stack.begin(), stack.end(), [this](LocationId id) {
      const LocationMark& mark = locations_[id.value()];
      return mark.prune_from && !mark.hidden;
    });
    if (pruned != stack.end()) {
      stack = stack.subspan(static_cast<std::size_t>(pruned - stack.begin()));
    }
  }
  return stack;
}

unsigned View::CollectLines(std::span<const LocationId> stack,
                            std::vector<std::uint32_t>& lines) const {
  const std::uint16_t* const classes = line_class_.empty() ? nullptr : line_class_.data();
  unsigned any = 0;
  if (one_line_each_ && !filters_frames_) {
    lines.resize(stack.size());
    for (std::size_t i = 0; i < stack.size(); ++i) {
      lines[i] = stack[i].value();
      any |= classes != nullptr ? classes[lines[i]] : 0U;
    }
    return any;
  }
  lines.clear();
  for (const LocationId id : stack) {
    const Location& location = recording_.At(id);
    for (std::uint32_t k = 0; k < location.line_count; ++k) {
      const std::uint32_t line = location.first_line + k;
      if (!filters_frames_ || line_hidden_[line] == 0) {
        lines.push_back(line);
        any |= classes != nullptr ? classes[line] : 0U;
      }
    }
  }
  return any;
}

// Leaves the visible part of a stack; false when its samples are filtered out.
bool View::Cut(std::span<const LocationId>& stack) const {
  if (!filters_frames_) {
    return true;
  }
  if (filter_.drop_frames) {
    stack = stack.subspan(CutDropped(stack));
  }
  if (!PassesFocus(stack)) {
    return false;
  }
  stack = CutRange(stack);
  return !filter_.show_from || !stack.empty();
}

bool View::Expand(StackId id, std::vector<LocationId>& out) const {
  out.clear();
  std::span<const LocationId> stack = recording_.Stack(id);
  if (!Cut(stack)) {
    return false;
  }
  std::copy_if(stack.begin(), stack.end(), std::back_inserter(out), [this](LocationId location) {
    return !filters_frames_ || !locations_[location.value()].hidden;
  });
  return true;
}

bool View::Expand(StackId id, VisibleStack& out) const {
  out.via = {};
  std::span<const LocationId> stack = recording_.Stack(id);
  if (!Cut(stack)) {
    return false;
  }
  const unsigned any = CollectLines(stack, out.lines);
  if (!line_class_.empty()) {
    KeepMode(any, out);
  }
  return true;
}

std::vector<std::string_view> View::Unmatched() const {
  std::vector<std::string_view> names;
  const auto check = [&names](bool given, bool matched, std::string_view name) {
    if (given && !matched) {
      names.push_back(name);
    }
  };
  check(filter_.focus != nullptr, focus_matched_, "focus");
  check(filter_.ignore != nullptr, ignore_matched_, "ignore");
  check(filter_.hide != nullptr, hide_matched_, "hide");
  check(filter_.show != nullptr, show_matched_, "show");
  check(filter_.show_from != nullptr, show_from_matched_, "show-from");
  check(filter_.tag_focus.has_value(), tag_focus_matched_, "tagfocus");
  check(filter_.tag_ignore.has_value(), tag_ignore_matched_, "tagignore");
  check(!filter_.options.device.empty(), device_matched_, "device");
  return names;
}

}  // namespace memtool
