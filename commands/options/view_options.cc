#include "options/view_options.h"

#include <algorithm>
#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <utility>

#include "words/choice.h"

namespace memtool::commands {

namespace {

struct RegexOption {
  const char* name;
  std::string FilterOptions::*member;
  const char* value;
  const char* help;
};

constexpr std::array<RegexOption, 12> kRegexOptions{{
    {"focus", &FilterOptions::focus, "REGEX", "only samples with a matching frame"},
    {"ignore", &FilterOptions::ignore, "REGEX", "no samples with a matching frame"},
    {"hide", &FilterOptions::hide, "REGEX", "take matching frames out of stacks"},
    {"show", &FilterOptions::show, "REGEX", "take all other frames out of stacks"},
    {"show-from", &FilterOptions::show_from, "REGEX", "drop callers of the outermost match"},
    {"prune-from", &FilterOptions::prune_from, "REGEX", "drop what a match calls"},
    {"tagfocus", &FilterOptions::tag_focus, "[KEY=]WHAT",
     "only samples with a matching label: regex, or a range such as 1MB:2MB"},
    {"tagignore", &FilterOptions::tag_ignore, "[KEY=]WHAT", "no samples with a matching label"},
    {"tagshow", &FilterOptions::tag_show, "REGEX", "show labels with a matching key only"},
    {"taghide", &FilterOptions::tag_hide, "REGEX", "do not show labels with a matching key"},
    {"tagroot", &FilterOptions::tag_root, "KEY,...", "label values as outermost frames"},
    {"tagleaf", &FilterOptions::tag_leaf, "KEY,...", "label values as innermost frames"},
}};

constexpr std::array<Choice<FrameMode>, 3> kModes{
    {{"app", FrameMode::kApp}, {"python", FrameMode::kPython}, {"all", FrameMode::kAll}}};

}  // namespace

KnownWords FrameWords() {
  return ToWords(kModes);
}

Result<FrameMode> ParseFrameMode(std::string_view text) {
  return Choose("--frames", text, kModes);
}

void ViewOptions::Declare(po::options_description& options, const ByOption& by) {
  of_events_ = by.events;
  po::options_description group("Selection");
  auto add = group.add_options();
  if (by.help != nullptr) {
    add("by", ToValue(&by_text_, ByWords(by.rows))->value_name("WHAT"), by.help);
    keywords_.Declare(add);
  }
  if (by.sorted) {
    add("cum", po::bool_switch(&cum_), "sort by cumulative instead of flat");
  }
  if (!by.events) {
    add("at",
        ToValue(&moment_text_, MomentWords())
            ->value_name("MOMENT")
            ->notifier([this](const std::string&) { has_moment_ = true; }),
        "the moment of a history: oom-or-peak (default), end, start, peak, peak:reserved, "
        "job-peak, "
        "oom[:K], event:N, time:12.5s, time:@EPOCH, mark:NAME[#K][:end] or step:K");
  }
  add("device", po::value(&options_.device)->value_name("DEVICE"),
      "only this device: its number, or its whole name");
  add("frames", ToValue(&frames_text_, FrameWords())->value_name("MODE"),
      "app (default): hide framework and runtime frames; python: Python frames; all");
  frames_.Declare(add);
  if (!by.events) {
    add("sample-index", po::value(&sample_index_)->value_name("TYPE"),
        "sample type by name or number (default: bytes)");
  }
  for (const RegexOption& option : kRegexOptions) {
    const std::string_view name(option.name);
    if (!by.events || (name != "tagroot" && name != "tagleaf")) {
      add(option.name, po::value(&(options_.*option.member))->value_name(option.value),
          option.help);
    }
  }
  options.add(group);
}

void ViewOptions::DeclareBase(po::options_description& options) {
  options.add_options()("base-at", ToValue(&base_moment_text_, MomentWords())->value_name("MOMENT"),
                        "the moment of the base (default: the same as --at)");
}

Result<void> ViewOptions::Resolve() {
  auto frames = ParseFrameMode(frames_text_);
  MEMTOOL_TRY(frames);
  options_.frames = *frames;
  MEMTOOL_TRY(frames_.Resolve());
  options_.frame_rules = frames_.rules();
  auto moment = has_moment_ ? ParseMoment(moment_text_) : default_moment_;
  auto base = base_moment_text_.empty() ? moment : ParseMoment(base_moment_text_, "--base-at");
  // What is compared with the peak is what comes after it.
  if (base && !has_moment_ &&
      (base->kind == MomentSpec::Kind::kPeak || base->kind == MomentSpec::Kind::kOom)) {
    moment = MomentSpec{.text = "end"};
  }
  if (!moment || !base) {
    return Fail(std::move(!moment ? moment.error() : base.error()));
  }
  moment_ = *std::move(moment);
  base_moment_ = *std::move(base);
  auto by = ParseBy(by_text_.empty() ? "filefunction" : by_text_);
  MEMTOOL_TRY(by);
  by_ = *std::move(by);
  by_.automatic = by_text_.empty();
  if (auto resolved = keywords_.ResolveBy(by_); !resolved) {
    return resolved;
  }
  FilterOptions compiled = options_;
  if (of_events_) {
    compiled.device.clear();
  }
  auto filter = Filter::Compile(compiled);
  MEMTOOL_TRY(filter);
  filter_ = std::make_shared<const Filter>(*std::move(filter));
  return {};
}

void ViewOptions::SetEndAsDefault() {
  default_moment_ = {.text = "end"};
  moment_ = has_moment_ ? moment_ : default_moment_;
}

bool ViewOptions::selects() const {
  return !sample_index_.empty() || options_.frames != FrameMode::kApp || frames_.given() ||
         std::any_of(kRegexOptions.begin(), kRegexOptions.end(), [this](const RegexOption& option) {
           return !(options_.*option.member).empty();
         });
}

std::string ViewOptions::Describe() const {
  std::string text;
  for (const RegexOption& option : kRegexOptions) {
    const std::string& value = options_.*option.member;
    if (!value.empty()) {
      text += (text.empty() ? "" : " ") + std::string(option.name) + "=" + value;
    }
  }
  if (!options_.device.empty()) {
    text += (text.empty() ? "" : " ") + ("device=" + options_.device);
  }
  if (options_.frames != FrameMode::kApp) {
    text += (text.empty() ? "" : " ") + ("frames=" + frames_text_);
  }
  if (const std::string own = frames_.Describe();
      !own.empty() && options_.frames == FrameMode::kApp) {
    text += (text.empty() ? "" : " ") + own;
  }
  if (keywords_.chosen()) {
    text += (text.empty() ? "" : " ") + ("keywords=" + keywords_.name());
  }
  return text;
}

MomentSpec ViewOptions::MakeMoment(const Recording& recording, const MomentSpec& given) const {
  const bool program = recording.metadata.origin.kind == RecordingKind::kProgram;
  const bool usual =
      given.kind == MomentSpec::Kind::kOomOrPeak || (program && !has_moment_ && !has_base_moment());
  return usual ? DefaultMoment(recording) : given;
}

}  // namespace memtool::commands
