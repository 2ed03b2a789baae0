#include "memtool/profile/rows/apply.h"

#include <algorithm>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

class Applier {
 public:
  explicit Applier(const View& view)
      : view_(view), from_(view.recording()), builder_(Symbols(from_)) {}

  Result<Applied> Run() {
    AddLocations();
    const Profile& profile = *from_.profile;
    builder_.StartProfile(profile.types, profile.default_type);
    AddSamples(profile);
    auto recording = std::move(builder_).Finish();
    MEMTOOL_TRY(recording);
    return Applied{*std::move(recording), Unmatched()};
  }

 private:
  static constexpr std::uint32_t kUnseen = StackId::kNone;
  static constexpr std::uint32_t kDropped = kUnseen - 1;

  static Recording Symbols(const Recording& from) {
    Recording to;
    to.strings = from.strings;
    to.mappings = from.mappings;
    to.functions = from.functions;
    to.metadata = from.metadata;
    to.label_sets.Add({});
    return to;
  }

  void AddLocations() {
    std::vector<Line> lines;
    for (const Location& location : from_.locations) {
      lines.clear();
      for (std::uint32_t i = 0; i < location.line_count; ++i) {
        const LineId line(location.first_line + i);
        if (view_.Shows(line) && from_.lines[line.value()].function.valid()) {
          lines.push_back(from_.lines[line.value()]);
        }
      }
      builder_.AddLocation(location, lines);
    }
  }

  void AddSamples(const Profile& profile) {
    RowVector<StackId> stacks;
    RowVector<LabelSetId> label_sets;
    std::vector<RowVector<std::int64_t>> values(profile.values.size());
    std::vector<std::uint32_t> unknown;
    auto next_unknown = profile.unknown_size.begin();
    stack_rows_.assign(from_.stack_count(), kUnseen);
    set_rows_.assign(from_.label_set_count(), kUnseen);
    for (std::uint32_t i = 0; i < profile.size(); ++i) {
      const bool listed = next_unknown != profile.unknown_size.end() && *next_unknown == i;
      next_unknown += listed ? 1 : 0;
      const std::uint32_t stack = GetRow(profile.stacks[i]);
      if (stack == kDropped || !Keeps(profile.label_sets[i])) {
        continue;
      }
      if (listed) {
        unknown.push_back(static_cast<std::uint32_t>(stacks.size()));
      }
      stacks.emplace_back(stack);
      label_sets.emplace_back(GetRow(profile.label_sets[i]));
      for (std::size_t t = 0; t < values.size(); ++t) {
        values[t].push_back(profile.values[t][i]);
      }
    }
    builder_.SetSamples(std::move(stacks), std::move(label_sets), std::move(values));
    builder_.SetUnknownSizes(std::move(unknown));
  }

  std::uint32_t GetRow(StackId id) {
    std::uint32_t& row = stack_rows_[id.value()];
    if (row == kUnseen) {
      row = view_.Expand(id, stack_) ? builder_.AddStack(stack_).value() : kDropped;
    }
    return row;
  }

  // Also notes what the tag filters match.
  bool Keeps(LabelSetId id) {
    if (set_rows_[id.value()] == kUnseen) {
      set_rows_[id.value()] = view_.Keeps(id) ? AddLabels(id) : kDropped;
      tag_focus_ = tag_focus_ || view_.MatchesTagFocus(id);
      tag_ignore_ = tag_ignore_ || view_.MatchesTagIgnore(id);
    }
    return set_rows_[id.value()] != kDropped;
  }
  [[nodiscard]] std::uint32_t GetRow(LabelSetId id) const { return set_rows_[id.value()]; }

  std::uint32_t AddLabels(LabelSetId id) {
    std::vector<Label> labels;
    for (const Label& label : from_.Labels(id)) {
      tag_show_ = tag_show_ || view_.MatchesTagShow(label.key);
      tag_hide_ = tag_hide_ || view_.MatchesTagHide(label.key);
      if (view_.ShowsKey(label.key)) {
        labels.push_back(label);
      }
    }
    return builder_.InternLabels(labels).value();
  }

  [[nodiscard]] std::vector<std::string_view> Unmatched() const {
    std::vector<std::string_view> names = view_.Unmatched();
    std::erase_if(names, [](std::string_view name) { return name.starts_with("tag"); });
    const FilterOptions& options = view_.filter_options();
    const auto check = [&names](const std::string& option, bool matched, std::string_view name) {
      if (!option.empty() && !matched) {
        names.push_back(name);
      }
    };
    check(options.tag_focus, tag_focus_, "tagfocus");
    check(options.tag_ignore, tag_ignore_, "tagignore");
    check(options.tag_show, tag_show_, "tagshow");
    check(options.tag_hide, tag_hide_, "taghide");
    return names;
  }

  const View& view_;
  const Recording& from_;
  RecordingBuilder builder_;
  std::vector<std::uint32_t> stack_rows_;
  std::vector<std::uint32_t> set_rows_;
  std::vector<LocationId> stack_;
  bool tag_focus_ = false;
  bool tag_ignore_ = false;
  bool tag_show_ = false;
  bool tag_hide_ = false;
};

}  // namespace

Result<Applied> Apply(const View& view) {
  return Applier(view).Run();
}

}  // namespace memtool
