#include "memtool/profile/select/filter.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "memtool/profile/base/result.h"
#include "select/compiled_filter.h"

namespace memtool {

Filter::Filter() : compiled_(std::make_unique<Compiled>()) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

namespace {

// A file's own expression, which matches whole names; null when it is not valid.
std::unique_ptr<RE2> KnownFileName(const std::string& text) {
  auto regex = text.empty() ? nullptr : std::make_unique<RE2>("^(" + text + ")$", RE2::Quiet);
  return regex && regex->ok() ? std::move(regex) : nullptr;
}

}  // namespace

Result<Filter> Filter::Compile(const FilterOptions& options) {
  Filter filter;
  Compiled& to = *filter.compiled_;
  to.options = options;
  struct Slot {
    std::string_view option;
    const std::string& text;
    std::unique_ptr<RE2>& regex;
  };
  for (const Slot& slot :
       {Slot{"--focus", options.focus, to.focus}, Slot{"--ignore", options.ignore, to.ignore},
        Slot{"--hide", options.hide, to.hide}, Slot{"--show", options.show, to.show},
        Slot{"--show-from", options.show_from, to.show_from},
        Slot{"--prune-from", options.prune_from, to.prune_from},
        Slot{"--tagshow", options.tag_show, to.tag_show},
        Slot{"--taghide", options.tag_hide, to.tag_hide}}) {
    auto regex = CompileRegex(slot.option, slot.text);
    MEMTOOL_TRY(regex);
    slot.regex = *std::move(regex);
  }
  if (options.frame_rules) {
    auto classifier = FrameClassifier::Compile(*options.frame_rules);
    MEMTOOL_TRY(classifier);
    to.classifier = *std::move(classifier);
  }
  to.drop_frames = KnownFileName(options.drop_frames);
  to.keep_frames = KnownFileName(options.keep_frames);
  if (!options.keep_frames.empty() && to.keep_frames == nullptr) {
    to.drop_frames.reset();  // what to keep is not known
  }
  for (auto [option, text, matcher] :
       {std::tuple{"--tagfocus", &options.tag_focus, &to.tag_focus},
        std::tuple{"--tagignore", &options.tag_ignore, &to.tag_ignore}}) {
    if (text->empty()) {
      continue;
    }
    auto compiled = TagMatcher::Compile(option, *text, options.rules);
    MEMTOOL_TRY(compiled);
    *matcher = *std::move(compiled);
  }
  return filter;
}

bool Filter::drops_samples() const {
  const Compiled& c = *compiled_;
  return c.focus || c.ignore || c.hide || c.show || c.show_from || c.tag_focus || c.tag_ignore ||
         !c.options.device.empty();
}

std::vector<std::string_view> Filter::Ranges() const {
  std::vector<std::string_view> names;
  if (compiled_->tag_focus && compiled_->tag_focus->is_range()) {
    names.emplace_back("tagfocus");
  }
  if (compiled_->tag_ignore && compiled_->tag_ignore->is_range()) {
    names.emplace_back("tagignore");
  }
  return names;
}

const FilterOptions& Filter::options() const {
  return compiled_->options;
}

}  // namespace memtool
