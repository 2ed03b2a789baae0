#include "pprof/pprof_writer.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <array>
#include <limits>

#include "profile.pb.h"

namespace memtool::formats {

namespace {

// Row numbers are ids from 0; the file's ids begin at 1, 0 means none.
template <class AnyId>
std::uint64_t WireId(AnyId id) {
  return id.valid() ? static_cast<std::uint64_t>(id.value()) + 1 : 0;
}

std::int64_t Index(StringId id) {
  return id.valid() ? id.value() : 0;
}

void AddSymbols(const Recording& recording, memtool::pprof::Profile& to) {
  for (std::uint32_t i = 0; i < recording.mappings.size(); ++i) {
    const Mapping& from = recording.mappings[i];
    memtool::pprof::Mapping& mapping = *to.add_mapping();
    mapping.set_id(i + 1);
    mapping.set_memory_start(from.start);
    mapping.set_memory_limit(from.limit);
    mapping.set_file_offset(from.offset);
    mapping.set_filename(Index(from.filename));
    mapping.set_build_id(Index(from.build_id));
    mapping.set_has_functions(from.has_functions);
    mapping.set_has_filenames(from.has_filenames);
    mapping.set_has_line_numbers(from.has_line_numbers);
    mapping.set_has_inline_frames(from.has_inline_frames);
  }
  for (std::uint32_t i = 0; i < recording.functions.size(); ++i) {
    const Function& from = recording.functions[i];
    memtool::pprof::Function& function = *to.add_function();
    function.set_id(i + 1);
    function.set_name(Index(from.name));
    function.set_system_name(Index(from.system_name));
    function.set_filename(Index(from.filename));
    function.set_start_line(from.start_line);
  }
  for (std::uint32_t i = 0; i < recording.locations.size(); ++i) {
    const Location& from = recording.locations[i];
    memtool::pprof::Location& location = *to.add_location();
    location.set_id(i + 1);
    location.set_mapping_id(WireId(from.mapping));
    location.set_address(from.address);
    location.set_is_folded(from.folded);
    for (const Line& line : recording.Lines(from)) {
      if (line.function.valid()) {
        memtool::pprof::Line& to_line = *location.add_line();
        to_line.set_function_id(WireId(line.function));
        to_line.set_line(line.line);
        to_line.set_column(line.column);
      }
    }
  }
}

void AddSamples(const Recording& recording, const Profile& profile, memtool::pprof::Profile& to) {
  for (const SampleType& from : profile.types) {
    memtool::pprof::ValueType& type = *to.add_sample_type();
    type.set_type(Index(from.type));
    type.set_unit(Index(from.unit));
  }
  to.set_default_sample_type(Index(profile.default_type));
  for (std::size_t i = 0; i < profile.size(); ++i) {
    memtool::pprof::Sample& sample = *to.add_sample();
    for (const LocationId location : recording.Stack(profile.stacks[i])) {
      sample.add_location_id(WireId(location));
    }
    for (const auto& column : profile.values) {
      sample.add_value(column[i]);
    }
    for (const Label& from : recording.Labels(profile.label_sets[i])) {
      memtool::pprof::Label& label = *sample.add_label();
      label.set_key(Index(from.key));
      if (from.numeric) {
        label.set_num(from.number);
        label.set_num_unit(Index(from.unit));
      } else {
        label.set_str(Index(from.text));
      }
    }
  }
}

}  // namespace

std::span<const std::string_view> PprofWriter::endings() const {
  static constexpr std::array<std::string_view, 2> kEndings{".pb.gz", ".prof"};
  return kEndings;
}

Result<void> PprofWriter::Write(const Recording& recording, const WriteOptions& /*options*/,
                                const ByteSink& sink) const {
  if (!recording.profile) {
    return Fail(ErrorCode::kUnsupported, "holds no samples, so it cannot be written as pprof");
  }
  memtool::pprof::Profile message;
  AddSamples(recording, *recording.profile, message);
  AddSymbols(recording, message);
  for (std::uint32_t i = 0; i < recording.strings.size(); ++i) {
    message.add_string_table(std::string(recording.strings[StringId(i)]));
  }
  const Metadata& metadata = recording.metadata;
  message.set_drop_frames(Index(metadata.drop_frames));
  message.set_keep_frames(Index(metadata.keep_frames));
  message.set_time_nanos(metadata.time_nanos);
  message.set_duration_nanos(metadata.duration_nanos);
  if (metadata.period_type.type.valid()) {
    message.mutable_period_type()->set_type(Index(metadata.period_type.type));
    message.mutable_period_type()->set_unit(Index(metadata.period_type.unit));
  }
  message.set_period(metadata.period);
  for (const StringId comment : metadata.comments) {
    message.add_comment(Index(comment));
  }
  message.set_doc_url(Index(metadata.doc_url));
  if (message.ByteSizeLong() > std::numeric_limits<std::int32_t>::max()) {
    return Fail(ErrorCode::kLimit, "is too large to be written as one protobuf message (2 GiB)");
  }
  std::string packed;
  google::protobuf::io::StringOutputStream bytes(&packed);
  google::protobuf::io::GzipOutputStream gzip(&bytes);
  if (!message.SerializeToZeroCopyStream(&gzip) || !gzip.Close()) {
    return Fail(ErrorCode::kOutput, "protobuf cannot write the profile");
  }
  return sink(packed);
}

}  // namespace memtool::formats
