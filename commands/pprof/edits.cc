#include "pprof/edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "memtool/profile/base/result.h"
#include "memtool/profile/rows/apply.h"
#include "memtool/profile/select/view.h"

namespace memtool::commands::pprof {

namespace {

// What warnings call the options.
std::string_view Spoken(std::string_view option) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kNames{
      {{"focus", "Focus"},
       {"ignore", "Ignore"},
       {"hide", "Hide"},
       {"show", "Show"},
       {"show-from", "ShowFrom"},
       {"tagfocus", "TagFocus"},
       {"tagignore", "TagIgnore"},
       {"tagshow", "TagShow"},
       {"taghide", "TagHide"}}};
  const auto* const found = std::find_if(kNames.begin(), kNames.end(),
                                         [&](const auto& name) { return name.first == option; });
  return found == kNames.end() ? option : found->second;
}

// A recording in which the filter can change nothing need not be copied.
bool ChangesNothing(const Recording& recording, const FilterOptions& options) {
  const std::array given{&options.focus,     &options.ignore,     &options.hide,
                         &options.show,      &options.show_from,  &options.prune_from,
                         &options.tag_focus, &options.tag_ignore, &options.tag_show,
                         &options.tag_hide};
  if (std::any_of(given.begin(), given.end(), [](const auto* text) { return !text->empty(); })) {
    return false;
  }
  for (std::uint32_t i = 0; i < recording.stack_count(); ++i) {
    if (recording.Stack(StackId(i)).empty()) {
      return false;
    }
  }
  return true;
}

std::string_view ToValue(const FilterOptions& options, std::string_view range) {
  const std::string_view text = range == "tagfocus" ? options.tag_focus : options.tag_ignore;
  return text.substr(text.find('=') + 1);  // all of it when there is no key
}

}  // namespace

Result<Recording> DropUninteresting(Recording recording) {
  const Metadata& metadata = recording.metadata;
  if (recording.Text(metadata.drop_frames).empty()) {
    return recording;
  }
  const auto filter =
      Filter::Compile({.drop_frames = std::string(recording.Text(metadata.drop_frames)),
                       .keep_frames = std::string(recording.Text(metadata.keep_frames)),
                       .frames = FrameMode::kAll});
  MEMTOOL_TRY(filter);
  auto applied = Apply(View(recording, *filter));
  return applied ? Result<Recording>(std::move(applied->recording))
                 : Fail(std::move(applied.error()));
}

Result<Recording> ApplyFilters(Recording recording, const Settings& settings,
                               const LabelUnits& units, const WarnUser& warn) {
  const FilterOptions options{.focus = settings.focus,
                              .ignore = settings.ignore,
                              .hide = settings.hide,
                              .show = settings.show,
                              .show_from = settings.show_from,
                              .prune_from = settings.prune_from,
                              .tag_focus = settings.tagfocus,
                              .tag_ignore = settings.tagignore,
                              .tag_show = settings.tagshow,
                              .tag_hide = settings.taghide,
                              .frames = FrameMode::kAll,
                              .rules = {.show_needs_symbol = true,
                                        .needs_stack = true,
                                        .read_range = [&units](std::string_view text) {
                                          return ReadTagRange(text, units);
                                        }}};
  const auto filter = Filter::Compile(options);
  MEMTOOL_TRY(filter);
  for (const std::string_view option : filter->Ranges()) {
    warn(fmt::format("{}:Interpreted '{}' as range, not regexp", option, ToValue(options, option)));
  }
  if (ChangesNothing(recording, options)) {
    return recording;
  }
  auto applied = Apply(View(recording, *filter));
  MEMTOOL_TRY(applied);
  for (const std::string_view option : applied->unmatched) {
    warn(fmt::format("{} expression matched no samples", Spoken(option)));
  }
  return std::move(applied->recording);
}

}  // namespace memtool::commands::pprof
