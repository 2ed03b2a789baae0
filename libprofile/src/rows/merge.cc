#include "memtool/profile/rows/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/model/recording_builder.h"
#include "rows/merge_types.h"

namespace memtool {

namespace {

constexpr std::uint32_t kNone = RowMap::kNone;

// Symbols, stacks and label sets of one input after another as rows of one recording.
class RowMerger {
 public:
  RowMerger(RecordingBuilder& builder, const MergeRules& rules)
      : builder_(builder), rules_(rules) {}

  void Start(const Recording& from, std::string_view process) {
    from_ = &from;
    process_ = process;
    strings_.assign(from.strings.size(), kNone);
    mapping_rows_.assign(from.mappings.size(), kNone);
    function_rows_.assign(from.functions.size(), kNone);
    location_rows_.assign(from.locations.size(), kNone);
    stack_rows_.assign(from.stack_count(), kNone);
    set_rows_.assign(from.label_set_count(), kNone);
    if (rules_.only_needed) {
      if (builder_.recording().mappings.empty() && !from.mappings.empty()) {
        OfMapping(MappingId(0U));
      }
      return;
    }
    ForAll(from.strings.size(), [this](std::uint32_t i) { OfString(StringId(i)); });
    ForAll(from.mappings.size(), [this](std::uint32_t i) { OfMapping(MappingId(i)); });
    ForAll(from.functions.size(), [this](std::uint32_t i) { OfFunction(FunctionId(i)); });
    ForAll(from.locations.size(), [this](std::uint32_t i) { OfLocation(LocationId(i)); });
    ForAll(from.stack_count(), [this](std::uint32_t i) { OfStack(StackId(i)); });
    ForAll(from.label_set_count(), [this](std::uint32_t i) { OfLabels(LabelSetId(i)); });
  }

  StringId OfString(StringId id) {
    if (!id.valid()) {
      return StringId(0U);
    }
    std::uint32_t& row = strings_[id.value()];
    row = row == kNone ? builder_.Intern(from_->strings[id]).value() : row;
    return StringId(row);
  }

  StackId OfStack(StackId id) {
    std::uint32_t& row = stack_rows_[id.value()];
    if (row == kNone) {
      stack_.clear();
      for (const LocationId location : from_->Stack(id)) {
        stack_.push_back(OfLocation(location));
      }
      row = InternStack();
    }
    return StackId(row);
  }

  LabelSetId OfLabels(LabelSetId id) {
    std::uint32_t& row = set_rows_[id.value()];
    if (row != kNone) {
      return LabelSetId(row);
    }
    std::vector<Label> labels;
    for (Label label : from_->Labels(id)) {
      const bool of_process = !process_.empty() && !label.numeric;
      label.text = of_process ? builder_.Intern(TextOfProcess(from_->Text(label.key),
                                                              from_->Text(label.text), process_))
                              : OfString(label.text);
      label.key = OfString(label.key);
      label.unit = OfString(label.unit);
      labels.push_back(label);
    }
    if (!rules_.label_order) {
      std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
        return std::tuple(a.key, a.numeric, a.text, a.number, a.unit) <
               std::tuple(b.key, b.numeric, b.text, b.number, b.unit);
      });
    } else {
      std::stable_sort(labels.begin(), labels.end(), [this](const Label& a, const Label& b) {
        return std::tuple(a.numeric, builder_.Text(a.key)) <
               std::tuple(b.numeric, builder_.Text(b.key));
      });
    }
    row = builder_.InternLabels(labels).value();
    return LabelSetId(row);
  }

 private:
  template <class Visit>
  static void ForAll(std::size_t rows, Visit visit) {
    for (std::uint32_t i = 0; i < rows; ++i) {
      visit(i);
    }
  }

  MappingId OfMapping(MappingId id) {
    std::uint32_t& row = mapping_rows_[id.value()];
    if (row == kNone) {
      Mapping mapping = from_->mappings[id.value()];
      mapping.filename = OfString(mapping.filename);
      mapping.build_id = OfString(mapping.build_id);
      row = InternMapping(mapping).value();
    }
    return MappingId(row);
  }

  // The same file at another address is the same mapping: addresses are compared relative.
  MappingId InternMapping(const Mapping& mapping) {
    constexpr std::uint64_t kPage = 0x1000;
    const std::uint64_t size = mapping.limit - mapping.start;
    const bool named = mapping.build_id.value() != 0;
    const auto key = rules_.loose_mappings
                         ? std::tuple(named ? mapping.build_id : mapping.filename, StringId(0U),
                                      (size + kPage - 1) / kPage, mapping.offset)
                         : std::tuple(mapping.filename, mapping.build_id, size, mapping.offset);
    const auto [it, added] = mappings_.try_emplace(key);
    if (added) {
      it->second = builder_.AddMapping(mapping);
    }
    return it->second;
  }

  FunctionId OfFunction(FunctionId id) {
    std::uint32_t& row = function_rows_[id.value()];
    if (row != kNone) {
      return FunctionId(row);
    }
    Function function = from_->functions[id.value()];
    function.name = OfString(function.name);
    function.system_name = OfString(function.system_name);
    function.filename = OfString(function.filename);
    const auto [it, added] = functions_.try_emplace(
        std::tuple(function.name, function.system_name, function.filename, function.start_line));
    if (added) {
      it->second = builder_.AddFunction(function);
    }
    row = it->second.value();
    return it->second;
  }

  LocationId OfLocation(LocationId id) {
    std::uint32_t& row = location_rows_[id.value()];
    if (row != kNone) {
      return LocationId(row);
    }
    const Location& location = from_->At(id);
    Location mapped{.address = location.address, .folded = location.folded};
    if (location.mapping.valid()) {
      mapped.mapping = OfMapping(location.mapping);
      const std::uint64_t start = builder_.recording().mappings[mapped.mapping.value()].start;
      mapped.address += start - from_->mappings[location.mapping.value()].start;
    }
    std::vector<Line> lines;
    std::vector<std::int64_t> key{static_cast<std::int64_t>(mapped.mapping.value()),
                                  static_cast<std::int64_t>(mapped.address),
                                  static_cast<std::int64_t>(mapped.folded)};
    for (Line line : from_->Lines(location)) {
      if (line.function.valid()) {
        line.function = OfFunction(line.function);
        line.column = rules_.columns ? line.column : 0;
        lines.push_back(line);
        key.insert(key.end(), {line.function.value(), line.line, line.column});
      }
    }
    const auto [it, added] = locations_.try_emplace(std::move(key));
    if (added) {
      it->second = builder_.AddLocation(mapped, lines);
    }
    row = it->second.value();
    return it->second;
  }

  // The row of stack_.
  std::uint32_t InternStack() {
    const std::uint64_t hash = HashRows(std::span<const LocationId>(stack_));
    const auto fresh = static_cast<std::uint32_t>(builder_.recording().stack_count());
    const std::uint32_t row = stacks_.GetOrPut(hash, fresh, [this](std::uint32_t known) {
      const auto with = builder_.recording().Stack(StackId(known));
      return std::equal(with.begin(), with.end(), stack_.begin(), stack_.end());
    });
    return row == fresh ? builder_.AddStack(stack_).value() : row;
  }

  RecordingBuilder& builder_;
  const MergeRules& rules_;
  std::map<std::tuple<StringId, StringId, std::uint64_t, std::uint64_t>, MappingId> mappings_;
  std::map<std::tuple<StringId, StringId, StringId, std::int64_t>, FunctionId> functions_;
  std::map<std::vector<std::int64_t>, LocationId> locations_;
  RowMap stacks_;  // by hash

  // For the current input: its rows to ours.
  const Recording* from_ = nullptr;
  std::string_view process_;
  std::vector<std::uint32_t> strings_;
  std::vector<std::uint32_t> mapping_rows_;
  std::vector<std::uint32_t> function_rows_;
  std::vector<std::uint32_t> location_rows_;
  std::vector<std::uint32_t> stack_rows_;
  std::vector<std::uint32_t> set_rows_;
  std::vector<LocationId> stack_;
};

std::int64_t Combine(std::int64_t sum, std::int64_t value, int sign, bool wrap, bool& saturated) {
  if (wrap) {
    const auto wide = static_cast<std::uint64_t>(value);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                     (sign < 0 ? 0 - wide : wide));
  }
  const bool left = sign < 0 ? __builtin_sub_overflow(sum, value, &sum)
                             : __builtin_add_overflow(sum, value, &sum);
  saturated = saturated || left;
  return sum;
}

class Merger {
 public:
  explicit Merger(const MergeRules& rules) : rules_(rules), rows_(builder_, rules) {}

  Result<Recording> Run(std::span<const MergeInput> inputs) {
    auto types = CommonTypes(inputs, rules_.same_types);
    MEMTOOL_TRY(types);
    types_ = *std::move(types);
    values_.resize(types_.size());
    for (const MergeInput& input : inputs) {
      rows_.Start(*input.recording, input.process);
      AddMetadata(*input.recording);
      AddSamples(*input.recording, input.sign);
    }
    if (saturated_) {
      return Fail(ErrorCode::kLimit,
                  "a sum exceeds the 64-bit range, which is the most that a "
                  "profile can hold");
    }
    return Finish();
  }
  // True when samples have cancelled out; what only they used is still there.
  [[nodiscard]] bool cancelled() const { return cancelled_; }

 private:
  [[nodiscard]] static bool IsZero(const std::vector<RowVector<std::int64_t>>& values,
                                   std::size_t sample) {
    return std::all_of(values.begin(), values.end(),
                       [sample](const auto& column) { return column[sample] == 0; });
  }

  void AddSamples(const Recording& from, int sign) {
    const Profile& profile = *from.profile;
    const std::vector<std::size_t> columns = MakeColumns(from, types_, rules_.same_types);
    auto next_unknown = profile.unknown_size.begin();
    for (std::uint32_t i = 0; i < profile.size(); ++i) {
      const bool listed = next_unknown != profile.unknown_size.end() && *next_unknown == i;
      next_unknown += listed ? 1 : 0;
      if (rules_.only_needed && IsZero(profile.values, i)) {
        continue;
      }
      const std::size_t row =
          GetRow(rows_.OfStack(profile.stacks[i]), rows_.OfLabels(profile.label_sets[i]),
                 rules_.unknown_apart && listed);
      for (std::size_t t = 0; t < columns.size(); ++t) {
        values_[t][row] =
            Combine(values_[t][row], profile.values[columns[t]][i], sign, rules_.wrap, saturated_);
      }
    }
  }

  std::size_t GetRow(StackId stack, LabelSetId labels, bool unknown) {
    const std::uint64_t key = std::uint64_t{labels.value()} << 32U | stack.value();
    RowMap& samples = unknown ? unknown_samples_ : samples_;
    const auto fresh = static_cast<std::uint32_t>(stacks_.size());
    const std::uint32_t row = samples.GetOrPut(key, fresh);
    if (row == fresh) {
      stacks_.push_back(stack);
      label_sets_.push_back(labels);
      std::for_each(values_.begin(), values_.end(), [](auto& column) { column.push_back(0); });
      if (unknown) {
        unknown_rows_.push_back(row);
      }
    }
    return row;
  }

  void AddMetadata(const Recording& from) {
    Metadata& to = builder_.metadata();
    const Metadata& source = from.metadata;
    if (!std::exchange(started_, true)) {
      to.format = source.format;
      to.format_display = source.format_display;
      to.origin = source.origin;
      to.frames_are_scopes = source.frames_are_scopes;
      to.period_type = {.type = rows_.OfString(source.period_type.type),
                        .unit = rows_.OfString(source.period_type.unit)};
      to.drop_frames = rows_.OfString(source.drop_frames);
      to.keep_frames = rows_.OfString(source.keep_frames);
      to.doc_url = rows_.OfString(source.doc_url);
    }
    if (default_type_.value() == 0) {
      default_type_ = rows_.OfString(from.profile->default_type);
    }
    if (to.time_nanos == 0 ||
        (source.time_nanos < to.time_nanos && (rules_.zero_is_time || source.time_nanos != 0))) {
      to.time_nanos = source.time_nanos;
    }
    to.duration_nanos =
        Combine(to.duration_nanos, source.duration_nanos, 1, rules_.wrap, saturated_);
    to.period = to.period == 0 ? source.period : std::max(to.period, source.period);
    for (const StringId comment : source.comments) {
      const StringId id = rows_.OfString(comment);
      if (comments_.insert(id).second) {
        to.comments.push_back(id);
      }
    }
  }

  // The rows that stay, without samples that are all zero; sorted by stack and labels, unless only
  // those needed stay.
  std::vector<std::uint32_t> Order() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < stacks_.size(); ++i) {
      if (IsZero(values_, i)) {
        cancelled_ = true;
      } else {
        order.push_back(i);
      }
    }
    if (!rules_.only_needed) {
      std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
        return std::tuple(stacks_[a], label_sets_[a], IsUnknown(a)) <
               std::tuple(stacks_[b], label_sets_[b], IsUnknown(b));
      });
    }
    return order;
  }
  [[nodiscard]] bool IsUnknown(std::uint32_t row) const {
    return std::binary_search(unknown_rows_.begin(), unknown_rows_.end(), row);
  }

  Result<Recording> Finish() {
    std::vector<SampleType> types;
    for (const auto& [name, unit, role] : types_) {
      types.push_back({.type = builder_.Intern(name),
                       .unit = builder_.Intern(unit),
                       .role = GetRole(name, unit)});
    }
    builder_.StartProfile(std::move(types), default_type_);
    const std::vector<std::uint32_t> order = Order();
    std::vector<std::uint32_t> unknown_sizes;
    for (std::uint32_t i = 0; !unknown_rows_.empty() && i < order.size(); ++i) {
      if (IsUnknown(order[i])) {
        unknown_sizes.push_back(i);
      }
    }
    const auto arrange = [&order](auto& column) {
      if (!std::is_sorted(order.begin(), order.end()) || order.size() != column.size()) {
        auto arranged = column;
        arranged.clear();
        for (const std::uint32_t row : order) {
          arranged.push_back(column[row]);
        }
        column = std::move(arranged);
      }
    };
    arrange(stacks_);
    arrange(label_sets_);
    std::for_each(values_.begin(), values_.end(), arrange);
    builder_.SetSamples(std::move(stacks_), std::move(label_sets_), std::move(values_));
    builder_.SetUnknownSizes(std::move(unknown_sizes));
    return std::move(builder_).Finish();
  }

  const MergeRules& rules_;
  bool saturated_ = false;  // a sum left the range of int64
  RecordingBuilder builder_;
  RowMerger rows_;
  std::vector<CommonType> types_;
  StringId default_type_{0U};
  bool started_ = false;
  bool cancelled_ = false;
  std::set<StringId> comments_;

  // Samples, by columns, and where each (stack, labels) is.
  RowVector<StackId> stacks_;
  RowVector<LabelSetId> label_sets_;
  std::vector<RowVector<std::int64_t>> values_;  // [type][sample]
  std::vector<std::uint32_t> unknown_rows_;
  RowMap samples_;
  RowMap unknown_samples_;
};

}  // namespace

Result<Recording> Merge(std::span<const MergeInput> inputs, const MergeRules& rules) {
  Merger merger(rules);
  auto merged = merger.Run(inputs);
  if (!merged || !rules.only_needed || !merger.cancelled()) {
    return merged;
  }
  // Once more, without what only the cancelled samples used.
  const MergeInput rest{&*merged};
  return Merger(rules).Run({&rest, 1});
}

}  // namespace memtool
