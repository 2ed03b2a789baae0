#include "pprof/edits.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>

#include "pprof/flat_map.h"
#include "pprof/measure.h"

namespace memtool::commands::pprof {

namespace {

using Expression = std::unique_ptr<RE2>;

Result<Expression> Compile(std::string_view option, const std::string& text) {
  if (text.empty()) {
    return nullptr;
  }
  auto expression = std::make_unique<RE2>(text, RE2::Quiet);
  if (!expression->ok()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("parsing {} regexp: {}", option, expression->error()));
  }
  return expression;
}

// Matches strings of a table, each at most once.
class Matcher {
 public:
  Matcher(const MutableProfile& profile, const RE2& expression)
      : profile_(profile), expression_(expression), known_(profile.strings.size(), 0) {}

  bool operator()(StringId id) {
    char& known = known_[id.valid() ? id.value() : 0];
    if (known == 0) {
      const std::string_view text = profile_.Text(id);
      known = RE2::PartialMatch({text.data(), text.size()}, expression_) ? 2 : 1;
    }
    return known == 2;
  }
  bool Matches(const Frame& frame) {
    const Function& function = profile_.functions[frame.function];
    return (*this)(function.name) || (*this)(function.filename);
  }
  bool MatchesMapping(const Place& place) {
    return place.mapping != kNoRow && (*this)(profile_.mappings[place.mapping].filename);
  }
  // Does any frame, or the mapping?
  bool MatchesAny(const Place& place) {
    return std::any_of(place.frames.begin(), place.frames.end(),
                       [this](const Frame& frame) { return Matches(frame); }) ||
           MatchesMapping(place);
  }

 private:
  const MutableProfile& profile_;
  const RE2& expression_;
  std::vector<char> known_;
};

std::optional<Matcher> MakeMatcher(const MutableProfile& profile, const Expression& expression) {
  return expression ? std::make_optional<Matcher>(profile, *expression) : std::nullopt;
}

// Rewrites every stack; `edit` fills the new one and says whether its samples stay.
template <class Edit>
void RewriteStacks(MutableProfile& profile, Edit edit) {
  Stacks rewritten;
  rewritten.Reserve(profile.stacks.size(), profile.stacks.place_count());
  std::vector<char> stays(profile.stacks.size(), 0);
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; i < profile.stacks.size(); ++i) {
    places.clear();
    stays[i] = edit(profile.stacks[i], places) ? 1 : 0;
    rewritten.Add(places);
  }
  profile.stacks = std::move(rewritten);
  std::vector<char> keep(profile.size());
  for (std::size_t i = 0; i < keep.size(); ++i) {
    keep[i] = stays[profile.sample_stacks[i]];
  }
  profile.Keep(keep);
}

void Append(std::vector<std::uint32_t>& to, std::span<const std::uint32_t> from) {
  to.insert(to.end(), from.begin(), from.end());
}

struct NameMatches {
  bool focus = false;
  bool ignore = false;
  bool hide = false;
  bool show = false;
};

struct NameMatchers {
  std::optional<Matcher> focus;
  std::optional<Matcher> ignore;
  std::optional<Matcher> hide;
  std::optional<Matcher> show;
};

enum class Focus : char { kNeither, kFocused, kIgnored };

// Marks one location and takes hidden lines from it. An unsymbolized location counts as hidden when
// `show` does not match its mapping.
Focus EditPlace(Place& place, NameMatchers& matchers, bool& hidden, NameMatches& matched) {
  Focus mark = Focus::kNeither;
  if (matchers.ignore && matchers.ignore->MatchesAny(place)) {
    matched.ignore = true;
    mark = Focus::kIgnored;
  } else if (!matchers.focus || matchers.focus->MatchesAny(place)) {
    matched.focus = true;
    mark = Focus::kFocused;
  }
  if (matchers.hide && matchers.hide->MatchesAny(place)) {
    matched.hide = true;
    if (matchers.hide->MatchesMapping(place)) {
      place.frames.clear();
    }
    std::erase_if(place.frames, [&](const Frame& frame) { return matchers.hide->Matches(frame); });
    hidden = place.frames.empty() || hidden;
  }
  if (matchers.show) {
    if (!matchers.show->MatchesMapping(place)) {
      std::erase_if(place.frames,
                    [&](const Frame& frame) { return !matchers.show->Matches(frame); });
    }
    hidden = place.frames.empty() || hidden;
    matched.show = matched.show || !place.frames.empty();
  }
  return mark;
}

NameMatches FilterByName(MutableProfile& profile, NameMatchers& matchers) {
  NameMatches matched;
  std::vector<Focus> marks(profile.places.size());
  std::vector<char> hidden(profile.places.size(), 0);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    bool hide = false;
    marks[i] = EditPlace(profile.places[i], matchers, hide, matched);
    hidden[i] = hide ? 1 : 0;
  }
  const bool any_hidden = std::find(hidden.begin(), hidden.end(), 1) != hidden.end();
  RewriteStacks(profile, [&](std::span<const std::uint32_t> stack, std::vector<std::uint32_t>& to) {
    bool focused = false;
    for (const std::uint32_t place : stack) {
      if (marks[place] == Focus::kIgnored) {
        return false;
      }
      focused = focused || marks[place] == Focus::kFocused;
      if (hidden[place] == 0) {
        to.push_back(place);
      }
    }
    return focused && !(any_hidden && to.empty());
  });
  return matched;
}

// Cuts what lies above the outermost match.
bool ShowFrom(MutableProfile& profile, Matcher& matcher) {
  std::vector<char> matches(profile.places.size(), 0);
  for (std::size_t i = 0; i < matches.size(); ++i) {
    Place& place = profile.places[i];
    if (matcher.MatchesMapping(place)) {
      matches[i] = 1;
      continue;
    }
    auto last = std::find_if(place.frames.rbegin(), place.frames.rend(),
                             [&](const Frame& frame) { return matcher.Matches(frame); });
    if (last != place.frames.rend()) {
      place.frames.erase(last.base(), place.frames.end());
      matches[i] = 1;
    }
  }
  RewriteStacks(profile, [&](std::span<const std::uint32_t> stack, std::vector<std::uint32_t>& to) {
    while (!stack.empty() && matches[stack.back()] == 0) {
      stack = stack.first(stack.size() - 1);
    }
    Append(to, stack);
    return !stack.empty();
  });
  return std::find(matches.begin(), matches.end(), 1) != matches.end();
}

// A function's name as prune expressions see it: without a leading dot and without arguments.
std::string_view WithoutArguments(std::string_view name) {
  name.remove_prefix(name.starts_with('.') ? 1 : 0);
  constexpr std::array<std::string_view, 2> kPartOfName{"(anonymous namespace)", "operator()"};
  for (std::size_t at = 0; at < name.size();) {
    const auto* reserved =
        std::find_if(kPartOfName.begin(), kPartOfName.end(),
                     [&](std::string_view part) { return name.substr(at).starts_with(part); });
    if (reserved != kPartOfName.end()) {
      at += reserved->size();
    } else if (name[at] == '(') {
      return name.substr(0, at);
    } else {
      ++at;
    }
  }
  return name;
}

bool FunctionMatches(const MutableProfile& profile, const Frame& frame, const RE2& expression) {
  const std::string_view name = profile.Text(profile.functions[frame.function].name);
  const std::string_view plain = WithoutArguments(name);
  return !name.empty() && RE2::PartialMatch({plain.data(), plain.size()}, expression);
}

// Cuts what lies below the innermost match, which stays.
void PruneFrom(MutableProfile& profile, const RE2& expression) {
  std::vector<char> matches(profile.places.size(), 0);
  for (std::size_t i = 0; i < matches.size(); ++i) {
    auto& frames = profile.places[i].frames;
    const auto found = std::find_if(frames.begin(), frames.end(), [&](const Frame& frame) {
      return FunctionMatches(profile, frame, expression);
    });
    if (found != frames.end()) {
      frames.erase(frames.begin(), found);
      matches[i] = 1;
    }
  }
  RewriteStacks(profile, [&](std::span<const std::uint32_t> stack, std::vector<std::uint32_t>& to) {
    const auto found = std::find_if(stack.begin(), stack.end(),
                                    [&](std::uint32_t place) { return matches[place] != 0; });
    Append(to, found == stack.end()
                   ? stack
                   : stack.subspan(static_cast<std::size_t>(found - stack.begin())));
    return true;
  });
}

enum class Prune : char { kNo, kWhole, kBeneath };

// Cuts a matching frame and what lies below it, but never before the first frame that does not
// match, counted from the root.
void PruneMatching(MutableProfile& profile, const RE2& drop, const RE2* keep) {
  std::vector<Prune> prune(profile.places.size(), Prune::kNo);
  for (std::size_t i = 0; i < prune.size(); ++i) {
    auto& frames = profile.places[i].frames;
    const auto found = std::find_if(frames.rbegin(), frames.rend(), [&](const Frame& frame) {
      return FunctionMatches(profile, frame, drop) &&
             (keep == nullptr || !FunctionMatches(profile, frame, *keep));
    });
    if (found == frames.rend()) {
      continue;
    }
    prune[i] = found == frames.rbegin() ? Prune::kWhole : Prune::kBeneath;
    if (prune[i] == Prune::kBeneath) {
      frames.erase(frames.begin(), found.base());
    }
  }
  RewriteStacks(profile, [&](std::span<const std::uint32_t> stack, std::vector<std::uint32_t>& to) {
    bool user = false;
    std::size_t first = 0;
    for (std::size_t i = stack.size(); i > 0; --i) {
      const Prune mark = prune[stack[i - 1]];
      if (mark == Prune::kNo) {
        user = true;
      } else if (user) {
        first = mark == Prune::kWhole ? i : i - 1;
        break;
      }
    }
    Append(to, stack.subspan(first));
    return true;
  });
}

struct TagMatches {
  bool focus = false;
  bool ignore = false;
};

TagMatches FilterByTag(MutableProfile& profile, const LabelMatch& focus, const LabelMatch& ignore) {
  TagMatches matched;
  std::vector<char> focused(profile.label_sets.size(), 1);
  std::vector<char> ignored(profile.label_sets.size(), 0);
  for (std::size_t i = 0; i < focused.size(); ++i) {
    focused[i] = !focus || focus(profile.label_sets[i]) ? 1 : 0;
    ignored[i] = ignore && ignore(profile.label_sets[i]) ? 1 : 0;
  }
  std::vector<char> keep(profile.size());
  for (std::size_t i = 0; i < keep.size(); ++i) {
    const std::uint32_t set = profile.sample_labels[i];
    matched.focus = matched.focus || focused[set] != 0;
    matched.ignore = matched.ignore || ignored[set] != 0;
    keep[i] = focused[set] != 0 && ignored[set] == 0 ? 1 : 0;
  }
  profile.Keep(keep);
  return matched;
}

// tagshow and taghide: which labels stay, by key. Returns what matched among the samples' labels.
TagMatches FilterTags(MutableProfile& profile, Matcher* show, Matcher* hide) {
  TagMatches matched;
  std::vector<char> used(profile.label_sets.size(), 0);
  for (const std::uint32_t set : profile.sample_labels) {
    used[set] = 1;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    LabelSet& set = profile.label_sets[i];
    const auto removes = [&](const auto& label) {
      const bool shown = show == nullptr || (*show)(label.key);
      const bool hidden = hide != nullptr && (*hide)(label.key);
      matched.focus = matched.focus || (shown && used[i] != 0);
      matched.ignore = matched.ignore || (hidden && used[i] != 0);
      return !shown || hidden;
    };
    std::erase_if(set.texts, removes);
    std::erase_if(set.numbers, removes);
  }
  return matched;
}

// The expressions of the options, in the order in which pprof compiles them.
struct Expressions {
  Expression focus, ignore, hide, show, show_from, prune_from, tagshow, taghide;
};

Result<Expressions> CompileAll(const Settings& settings) {
  Expressions all;
  const std::array<std::tuple<std::string_view, const std::string*, Expression*>, 8> options{
      {{"focus", &settings.focus, &all.focus},
       {"ignore", &settings.ignore, &all.ignore},
       {"hide", &settings.hide, &all.hide},
       {"show", &settings.show, &all.show},
       {"show_from", &settings.show_from, &all.show_from},
       {"prune_from", &settings.prune_from, &all.prune_from},
       {"tagshow", &settings.tagshow, &all.tagshow},
       {"taghide", &settings.taghide, &all.taghide}}};
  for (const auto& [name, text, to] : options) {
    auto compiled = Compile(name, *text);
    if (!compiled) {
      return Fail(std::move(compiled.error()));
    }
    *to = *std::move(compiled);
  }
  return all;
}

void AggregateSymbols(MutableProfile& profile, bool noinlines, bool function, bool file,
                      bool line) {
  for (Mapping& mapping : profile.mappings) {
    mapping.has_inline_frames = mapping.has_inline_frames && !noinlines;
    mapping.has_functions = mapping.has_functions && function;
    mapping.has_filenames = mapping.has_filenames && file;
    mapping.has_line_numbers = mapping.has_line_numbers && line;
  }
  for (Function& row : profile.functions) {
    if (!function) {
      row.name = row.system_name = StringId(0U);
    }
    row.filename = file ? row.filename : StringId(0U);
  }
}

}  // namespace

Result<void> ApplyFilters(MutableProfile& profile, const Settings& settings,
                          const LabelUnits& units, const WarnUser& warn) {
  const auto all = CompileAll(settings);
  if (!all) {
    return Fail(all.error());
  }
  auto tag_focus = CompileTagFilter(profile, "tagfocus", settings.tagfocus, units, warn);
  auto tag_ignore = CompileTagFilter(profile, "tagignore", settings.tagignore, units, warn);
  if (!tag_focus || !tag_ignore) {
    return Fail(std::move(tag_focus ? tag_ignore.error() : tag_focus.error()));
  }
  const auto note = [&warn](const std::string& option, bool matched, std::string_view name) {
    if (!option.empty() && !matched) {
      warn(fmt::format("{} expression matched no samples", name));
    }
  };
  NameMatchers matchers{.focus = MakeMatcher(profile, all->focus),
                        .ignore = MakeMatcher(profile, all->ignore),
                        .hide = MakeMatcher(profile, all->hide),
                        .show = MakeMatcher(profile, all->show)};
  const NameMatches names = FilterByName(profile, matchers);
  note(settings.focus, names.focus, "Focus");
  note(settings.ignore, names.ignore, "Ignore");
  note(settings.hide, names.hide, "Hide");
  note(settings.show, names.show, "Show");
  if (auto show_from = MakeMatcher(profile, all->show_from)) {
    note(settings.show_from, ShowFrom(profile, *show_from), "ShowFrom");
  }
  const TagMatches tags = FilterByTag(profile, *tag_focus, *tag_ignore);
  note(settings.tagfocus, tags.focus, "TagFocus");
  note(settings.tagignore, tags.ignore, "TagIgnore");
  auto tagshow = MakeMatcher(profile, all->tagshow);
  auto taghide = MakeMatcher(profile, all->taghide);
  const TagMatches shown =
      FilterTags(profile, tagshow ? &*tagshow : nullptr, taghide ? &*taghide : nullptr);
  note(settings.tagshow, shown.focus, "TagShow");
  note(settings.taghide, shown.ignore, "TagHide");
  if (all->prune_from) {
    PruneFrom(profile, *all->prune_from);
  }
  return {};
}

void DropUninteresting(MutableProfile& profile) {
  if (profile.drop_frames.empty()) {
    return;
  }
  const RE2 drop("^(" + profile.drop_frames + ")$", RE2::Quiet);
  if (!drop.ok()) {
    return;
  }
  if (profile.keep_frames.empty()) {
    PruneMatching(profile, drop, nullptr);
    return;
  }
  const RE2 keep("^(" + profile.keep_frames + ")$", RE2::Quiet);
  if (keep.ok()) {
    PruneMatching(profile, drop, &keep);
  }
}

void Aggregate(MutableProfile& profile, const Settings& settings) {
  const std::string& by = settings.granularity;
  const bool address = by == "addresses";
  if (address && !settings.noinlines) {
    return;
  }
  const bool line = address || by == "lines";
  const bool file = line || by == "files" || by == "filefunctions";
  const bool function = by != "files";
  AggregateSymbols(profile, settings.noinlines, function, file, line);
  for (Place& place : profile.places) {
    if (settings.noinlines && place.frames.size() > 1) {
      place.frames.erase(place.frames.begin(), place.frames.end() - 1);
    }
    if (!line) {
      std::for_each(place.frames.begin(), place.frames.end(), [](Frame& frame) { frame.line = 0; });
    }
    place.address = address ? place.address : 0;
  }
}

}  // namespace memtool::commands::pprof
