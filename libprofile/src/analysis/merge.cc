#include "memtool/profile/analysis/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "memtool/profile/analysis/values.h"
#include "memtool/profile/recording_builder.h"

namespace memtool {

namespace {

class Merger {
 public:
  Result<Recording> Run(std::span<const MergeInput> inputs) {
    if (auto error = ChooseTypes(inputs)) {
      return Fail(*std::move(error));
    }
    for (const MergeInput& input : inputs) {
      Add(*input.recording, input.sign);
    }
    return FinishSamples();
  }

 private:
  // Sample types by name and unit, as the first input orders them.
  std::optional<Error> ChooseTypes(std::span<const MergeInput> inputs) {
    for (const MergeInput& input : inputs) {
      if (!input.recording->profile) {
        return Error{.code = ErrorCode::kUnsupported,
                     .input = {},
                     .message = "an input holds no samples to merge"};
      }
    }
    const Recording& first = *inputs.front().recording;
    for (const SampleType& type : first.profile->types) {
      const std::string name(first.Text(type.type));
      const std::string unit(first.Text(type.unit));
      const bool everywhere =
          std::all_of(inputs.begin(), inputs.end(), [&](const MergeInput& input) {
            return FindType(*input.recording, name, unit).has_value();
          });
      if (everywhere) {
        types_.emplace_back(name, unit);
      }
    }
    if (types_.empty()) {
      return Error{.code = ErrorCode::kUsage,
                   .input = {},
                   .message = "the inputs share no sample type, so they cannot be merged"};
    }
    return std::nullopt;
  }

  static std::optional<std::size_t> FindType(const Recording& recording, std::string_view name,
                                             std::string_view unit) {
    const auto& types = recording.profile->types;
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (recording.Text(types[i].type) == name && recording.Text(types[i].unit) == unit) {
        return i;
      }
    }
    return std::nullopt;
  }

  void Add(const Recording& from, int sign) {
    const std::vector<StringId> strings = MapStrings(from);
    const std::vector<MappingId> mappings = MapMappings(from, strings);
    const std::vector<FunctionId> functions = MapFunctions(from, strings);
    const std::vector<LocationId> locations = MapLocations(from, mappings, functions);
    const std::vector<StackId> stacks = MapStacks(from, locations);
    const std::vector<LabelSetId> labels = MapLabels(from, strings);
    const Profile& profile = *from.profile;
    std::vector<std::size_t> columns;
    for (const auto& [name, unit] : types_) {
      columns.push_back(*FindType(from, name, unit));
    }
    auto next_unknown = profile.unknown_size.begin();
    for (std::uint32_t i = 0; i < profile.size(); ++i) {
      const bool unknown = next_unknown != profile.unknown_size.end() && *next_unknown == i;
      next_unknown += unknown ? 1 : 0;
      auto& values = samples_[{stacks[profile.stacks[i].value()].value(),
                               labels[profile.label_sets[i].value()].value(), unknown}];
      values.resize(types_.size());
      for (std::size_t t = 0; t < columns.size(); ++t) {
        const std::int64_t value = profile.values[columns[t]][i];
        values[t] =
            sign < 0 ? SaturatingSubtract(values[t], value) : SaturatingAdd(values[t], value);
      }
    }
    AddMetadata(from, strings);
  }

  std::vector<StringId> MapStrings(const Recording& from) {
    std::vector<StringId> ids;
    for (std::uint32_t i = 0; i < from.strings.size(); ++i) {
      ids.push_back(builder_.Intern(from.strings[StringId(i)]));
    }
    return ids;
  }

  static StringId Of(const std::vector<StringId>& map, StringId id) {
    return id.valid() ? map[id.value()] : StringId(std::uint32_t{0});
  }

  std::vector<MappingId> MapMappings(const Recording& from, const std::vector<StringId>& strings) {
    std::vector<MappingId> ids;
    for (Mapping mapping : from.mappings) {
      mapping.filename = Of(strings, mapping.filename);
      mapping.build_id = Of(strings, mapping.build_id);
      // The same file at another address is the same mapping: addresses are compared relative.
      const auto key = std::tuple(mapping.filename, mapping.build_id, mapping.limit - mapping.start,
                                  mapping.offset);
      const auto [it, added] = mappings_.try_emplace(key);
      if (added) {
        it->second = builder_.AddMapping(mapping);
        mapping_starts_.push_back(mapping.start);
      }
      ids.push_back(it->second);
    }
    return ids;
  }

  std::vector<FunctionId> MapFunctions(const Recording& from,
                                       const std::vector<StringId>& strings) {
    std::vector<FunctionId> ids;
    for (const Function& function : from.functions) {
      const Function mapped{.name = Of(strings, function.name),
                            .system_name = Of(strings, function.system_name),
                            .filename = Of(strings, function.filename),
                            .start_line = function.start_line};
      const auto [it, added] = functions_.try_emplace(
          std::tuple(mapped.name, mapped.system_name, mapped.filename, mapped.start_line));
      if (added) {
        it->second = builder_.AddFunction(mapped);
      }
      ids.push_back(it->second);
    }
    return ids;
  }

  std::vector<LocationId> MapLocations(const Recording& from,
                                       const std::vector<MappingId>& mappings,
                                       const std::vector<FunctionId>& functions) {
    std::vector<LocationId> ids;
    for (const Location& location : from.locations) {
      Location mapped{.address = location.address, .folded = location.folded};
      if (location.mapping.valid()) {
        mapped.mapping = mappings[location.mapping.value()];
        const std::uint64_t start = from.mappings[location.mapping.value()].start;
        mapped.address = location.address - start + mapping_starts_[mapped.mapping.value()];
      }
      std::vector<Line> lines;
      std::vector<std::int64_t> key{static_cast<std::int64_t>(mapped.mapping.value()),
                                    static_cast<std::int64_t>(mapped.address),
                                    static_cast<std::int64_t>(mapped.folded)};
      if (!from.Unsymbolized(location)) {
        for (Line line : from.Lines(location)) {
          line.function = functions[line.function.value()];
          lines.push_back(line);
          key.insert(key.end(), {line.function.value(), line.line, line.column});
        }
      }
      const auto [it, added] = locations_.try_emplace(std::move(key));
      if (added) {
        it->second = builder_.AddLocation(mapped, lines);
      }
      ids.push_back(it->second);
    }
    return ids;
  }

  std::vector<StackId> MapStacks(const Recording& from, const std::vector<LocationId>& locations) {
    std::vector<StackId> ids;
    for (std::uint32_t i = 0; i < from.stack_count(); ++i) {
      std::vector<LocationId> stack;
      for (const LocationId location : from.Stack(StackId(i))) {
        stack.push_back(locations[location.value()]);
      }
      const auto [it, added] = stacks_.try_emplace(stack);
      if (added) {
        it->second = builder_.AddStack(stack);
      }
      ids.push_back(it->second);
    }
    return ids;
  }

  std::vector<LabelSetId> MapLabels(const Recording& from, const std::vector<StringId>& strings) {
    std::vector<LabelSetId> ids;
    for (std::uint32_t i = 0; i < from.label_set_count(); ++i) {
      std::vector<Label> labels;
      for (Label label : from.Labels(LabelSetId(i))) {
        label.key = Of(strings, label.key);
        label.text = Of(strings, label.text);
        label.unit = Of(strings, label.unit);
        labels.push_back(label);
      }
      std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
        return std::tuple(a.key, a.numeric, a.text, a.number, a.unit) <
               std::tuple(b.key, b.numeric, b.text, b.number, b.unit);
      });
      ids.push_back(builder_.InternLabels(labels));
    }
    return ids;
  }

  void AddMetadata(const Recording& from, const std::vector<StringId>& strings) {
    Metadata& to = builder_.metadata();
    const Metadata& source = from.metadata;
    if (to.format.empty()) {
      to.format = source.format;
      to.format_display = source.format_display;
      to.period_type = {.type = Of(strings, source.period_type.type),
                        .unit = Of(strings, source.period_type.unit)};
      to.drop_frames = Of(strings, source.drop_frames);
      to.keep_frames = Of(strings, source.keep_frames);
      to.doc_url = Of(strings, source.doc_url);
      default_type_ = Of(strings, from.profile->default_type);
    }
    if (source.time_nanos != 0) {
      to.time_nanos =
          to.time_nanos == 0 ? source.time_nanos : std::min(to.time_nanos, source.time_nanos);
    }
    to.duration_nanos = SaturatingAdd(to.duration_nanos, source.duration_nanos);
    to.period = std::max(to.period, source.period);
    for (const StringId comment : source.comments) {
      const StringId id = Of(strings, comment);
      if (comments_.insert(id).second) {
        to.comments.push_back(id);
      }
    }
  }

  Result<Recording> FinishSamples() {
    std::vector<SampleType> types;
    for (const auto& [name, unit] : types_) {
      types.push_back({.type = builder_.Intern(name),
                       .unit = builder_.Intern(unit),
                       .role = RoleOf(name, unit)});
    }
    builder_.StartProfile(std::move(types), default_type_);
    std::vector<std::uint32_t> unknown_sizes;
    std::uint32_t row = 0;
    for (const auto& [key, values] : samples_) {
      const auto& [stack, labels, unknown] = key;
      if (std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 0; })) {
        continue;
      }
      builder_.AddSample(StackId(stack), LabelSetId(labels), values);
      if (unknown) {
        unknown_sizes.push_back(row);
      }
      ++row;
    }
    builder_.SetUnknownSizes(std::move(unknown_sizes));
    return std::move(builder_).Finish();
  }

  RecordingBuilder builder_;
  std::vector<std::pair<std::string, std::string>> types_;
  StringId default_type_{std::uint32_t{0}};
  std::map<std::tuple<StringId, StringId, std::uint64_t, std::uint64_t>, MappingId> mappings_;
  std::vector<std::uint64_t> mapping_starts_;
  std::map<std::tuple<StringId, StringId, StringId, std::int64_t>, FunctionId> functions_;
  std::map<std::vector<std::int64_t>, LocationId> locations_;
  std::map<std::vector<LocationId>, StackId> stacks_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::vector<std::int64_t>> samples_;
  std::set<StringId> comments_;
};

}  // namespace

Result<Recording> Merge(std::span<const MergeInput> inputs) {
  return Merger().Run(inputs);
}

}  // namespace memtool
