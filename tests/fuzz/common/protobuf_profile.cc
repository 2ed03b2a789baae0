#include "common/protobuf_profile.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "common/recording_text.h"
#include "common/wire_habits.h"
#include "memtool/profile/model/recording_builder.h"
#include "profile.pb.h"

namespace memtool::fuzz {

namespace {

// The message as a Recording; every table in the simplest way.
class Model {
 public:
  explicit Model(const pprof::Profile& from) : from_(from) {}

  std::optional<Recording> Run() {
    if (from_.string_table_size() == 0 || !from_.string_table(0).empty()) {
      return std::nullopt;
    }
    Heads();
    Mappings();
    Functions();
    Locations();
    if (refused_ || (from_.sample_size() > 0 && from_.sample_type_size() == 0)) {
      return std::nullopt;
    }
    for (const pprof::Sample& sample : from_.sample()) {
      Sample(sample);
    }
    if (refused_) {
      return std::nullopt;
    }
    auto made = std::move(builder_).Finish();
    return made ? std::optional<Recording>(*std::move(made)) : std::nullopt;
  }

 private:
  template <class Id>
  using Ids = std::map<std::uint64_t, Id>;

  StringId Text(std::int64_t index) {
    if (index < 0 || index >= from_.string_table_size()) {
      refused_ = true;
      return StringId(0U);
    }
    return builder_.Intern(from_.string_table(static_cast<int>(index)));
  }

  template <class Id>
  void Define(Ids<Id>& ids, std::uint64_t number, Id id) {
    refused_ = refused_ || number == 0 || !ids.emplace(number, id).second;
  }
  // The row of what must be there.
  template <class Id>
  Id Row(const Ids<Id>& ids, std::uint64_t number) {
    const auto found = ids.find(number);
    refused_ = refused_ || found == ids.end();
    return found == ids.end() ? Id(0U) : found->second;
  }

  void Heads() {
    for (const std::int64_t index : {from_.drop_frames(), from_.keep_frames(), from_.doc_url(),
                                     from_.period_type().type(), from_.period_type().unit()}) {
      Text(index);
    }
    for (const std::int64_t index : from_.comment()) {
      Text(index);
    }
    std::vector<SampleType> types;
    for (const pprof::ValueType& type : from_.sample_type()) {
      types.push_back({.type = Text(type.type()), .unit = Text(type.unit())});
    }
    builder_.StartProfile(std::move(types), Text(from_.default_sample_type()));
  }

  void Mappings() {
    for (const pprof::Mapping& mapping : from_.mapping()) {
      const MappingId id = builder_.AddMapping({.start = mapping.memory_start(),
                                                .limit = mapping.memory_limit(),
                                                .offset = mapping.file_offset(),
                                                .filename = Text(mapping.filename()),
                                                .build_id = Text(mapping.build_id()),
                                                .has_functions = mapping.has_functions(),
                                                .has_filenames = mapping.has_filenames(),
                                                .has_line_numbers = mapping.has_line_numbers(),
                                                .has_inline_frames = mapping.has_inline_frames()});
      Define(mappings_, mapping.id(), id);
    }
  }

  void Functions() {
    for (const pprof::Function& function : from_.function()) {
      const FunctionId id = builder_.AddFunction({.name = Text(function.name()),
                                                  .system_name = Text(function.system_name()),
                                                  .filename = Text(function.filename()),
                                                  .start_line = function.start_line()});
      Define(functions_, function.id(), id);
    }
  }

  void Locations() {
    for (const pprof::Location& from : from_.location()) {
      Location location{.address = from.address(), .folded = from.is_folded()};
      // A mapping that does not exist counts as damage, not as the end.
      if (const auto found = mappings_.find(from.mapping_id()); found != mappings_.end()) {
        location.mapping = found->second;
      }
      std::vector<Line> lines;
      for (const pprof::Line& line : from.line()) {
        lines.push_back({Row(functions_, line.function_id()), line.line(), line.column()});
      }
      if (refused_) {
        return;
      }
      Define(locations_, from.id(), builder_.AddLocation(location, lines));
    }
  }

  void Sample(const pprof::Sample& from) {
    std::vector<LocationId> stack;
    for (const std::uint64_t location : from.location_id()) {
      stack.push_back(Row(locations_, location));
    }
    refused_ = refused_ || from.value_size() != from_.sample_type_size();
    std::vector<Label> labels;
    for (const pprof::Label& label : from.label()) {
      if (label.str() == 0 && label.num() == 0 && label.num_unit() == 0) {
        continue;
      }
      labels.push_back({.key = Text(label.key()),
                        .text = Text(label.str()),
                        .number = label.num(),
                        .unit = Text(label.num_unit()),
                        .numeric = label.str() == 0});
    }
    if (!refused_) {
      const std::vector<std::int64_t> values(from.value().begin(), from.value().end());
      builder_.AddSample(builder_.AddStack(stack), builder_.InternLabels(labels), values);
    }
  }

  const pprof::Profile& from_;
  RecordingBuilder builder_;
  Ids<MappingId> mappings_;
  Ids<FunctionId> functions_;
  Ids<LocationId> locations_;
  bool refused_ = false;
};

}  // namespace

ProtobufProfile ReadByProtobuf(std::span<const std::byte> bytes) {
  const WireStyle habits = FindHabits(bytes);
  ProtobufProfile result{.stricter = habits.stricter, .looser = habits.looser};
  pprof::Profile message;
  if (bytes.size() <= std::numeric_limits<int>::max() &&
      message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    if (const auto recording = Model(message).Run()) {
      result.text = SamplesText(*recording);
    }
  }
  return result;
}

}  // namespace memtool::fuzz
