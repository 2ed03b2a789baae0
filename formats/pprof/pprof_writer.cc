#include "pprof/pprof_writer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "profile.pb.h"
#include "support/packing/gzip_writer.h"

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

// Records are handed over a few at a time: protobuf messages end to end are one message. Fields
// come in the order of their numbers, as protobuf itself writes them.
class Pieces {
 public:
  using Take = std::function<Result<void>(const memtool::pprof::Profile& piece)>;

  explicit Pieces(Take take) : take_(std::move(take)) {}

  // Calls fill(i, piece) for every i below `count`.
  template <class Fill>
  void Add(std::size_t count, Fill fill) {
    constexpr std::size_t kPerPiece = 256;
    for (std::size_t i = 0; i < count && state_; ++i) {
      fill(i, *piece_);
      if ((i + 1) % kPerPiece == 0 || i + 1 == count) {
        Hand();
      }
    }
  }
  void Hand() {
    if (state_) {
      state_ = take_(*piece_);
    }
    piece_->Clear();
  }
  // The first error of `take`.
  [[nodiscard]] const Result<void>& state() const { return state_; }

 private:
  Take take_;
  Result<void> state_;
  // On an arena nothing takes a message apart: after an exception from within, that may not go
  // well.
  google::protobuf::Arena arena_;
  memtool::pprof::Profile* piece_ =
      google::protobuf::Arena::CreateMessage<memtool::pprof::Profile>(&arena_);
};

void FillMapping(std::size_t row, const Mapping& from, memtool::pprof::Mapping& mapping) {
  mapping.set_id(row + 1);
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

void FillFunction(std::size_t row, const Function& from, memtool::pprof::Function& function) {
  function.set_id(row + 1);
  function.set_name(Index(from.name));
  function.set_system_name(Index(from.system_name));
  function.set_filename(Index(from.filename));
  function.set_start_line(from.start_line);
}

void FillLocation(const Recording& recording, std::size_t row, memtool::pprof::Location& location) {
  const Location& from = recording.locations[row];
  location.set_id(row + 1);
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

void FillSample(const Recording& recording, std::size_t row, memtool::pprof::Sample& sample) {
  const Profile& profile = *recording.profile;
  const auto stack = recording.Stack(profile.stacks[row]);
  auto& ids = *sample.mutable_location_id();
  ids.Resize(static_cast<int>(stack.size()), 0);
  std::transform(stack.begin(), stack.end(), ids.mutable_data(),
                 [](LocationId location) { return WireId(location); });
  for (const auto& column : profile.values) {
    sample.add_value(column[row]);
  }
  for (const Label& from : recording.Labels(profile.label_sets[row])) {
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

// The fields that come once and stand behind the strings.
void FillRest(const Recording& recording, memtool::pprof::Profile& to) {
  const Metadata& metadata = recording.metadata;
  to.set_drop_frames(Index(metadata.drop_frames));
  to.set_keep_frames(Index(metadata.keep_frames));
  to.set_time_nanos(metadata.time_nanos);
  to.set_duration_nanos(metadata.duration_nanos);
  if (metadata.period_type.type.valid()) {
    to.mutable_period_type()->set_type(Index(metadata.period_type.type));
    to.mutable_period_type()->set_unit(Index(metadata.period_type.unit));
  }
  to.set_period(metadata.period);
  for (const StringId comment : metadata.comments) {
    to.add_comment(Index(comment));
  }
  to.set_default_sample_type(Index(recording.profile->default_type));
  to.set_doc_url(Index(metadata.doc_url));
}

// Hands a recording over, in pieces.
Result<void> Compose(const Recording& recording, const Pieces::Take& take) {
  using Piece = memtool::pprof::Profile;
  Pieces pieces(take);
  const auto& types = recording.profile->types;
  pieces.Add(types.size(), [&types](std::size_t i, Piece& to) {
    memtool::pprof::ValueType& type = *to.add_sample_type();
    type.set_type(Index(types[i].type));
    type.set_unit(Index(types[i].unit));
  });
  pieces.Add(recording.profile->size(), [&recording](std::size_t i, Piece& to) {
    FillSample(recording, i, *to.add_sample());
  });
  pieces.Add(recording.mappings.size(), [&recording](std::size_t i, Piece& to) {
    FillMapping(i, recording.mappings[i], *to.add_mapping());
  });
  pieces.Add(recording.locations.size(), [&recording](std::size_t i, Piece& to) {
    FillLocation(recording, i, *to.add_location());
  });
  pieces.Add(recording.functions.size(), [&recording](std::size_t i, Piece& to) {
    FillFunction(i, recording.functions[i], *to.add_function());
  });
  pieces.Add(recording.strings.size(), [&recording](std::size_t i, Piece& to) {
    to.add_string_table(std::string(recording.strings[StringId(static_cast<std::uint32_t>(i))]));
  });
  pieces.Add(1, [&recording](std::size_t, Piece& to) { FillRest(recording, to); });
  return pieces.state();
}

// Not less than the bytes of the message; cheap.
std::uint64_t AtMost(const Recording& recording) {
  constexpr std::uint64_t kId = 5;      // a varint of 32 bits
  constexpr std::uint64_t kField = 11;  // a field that is any number
  constexpr std::uint64_t kRecord = 12 * kField;
  const Profile& profile = *recording.profile;
  std::uint64_t bytes = kRecord + kField * recording.metadata.comments.size();
  for (std::size_t i = 0; i < profile.size(); ++i) {
    bytes += 4 * kField + kId * recording.Stack(profile.stacks[i]).size() +
             kField * profile.values.size() +
             5 * kField * recording.Labels(profile.label_sets[i]).size();
  }
  for (std::uint32_t i = 0; i < recording.strings.size(); ++i) {
    bytes += kField + recording.strings[StringId(i)].size();
  }
  return bytes +
         kRecord * (profile.types.size() + recording.mappings.size() + recording.functions.size() +
                    recording.locations.size() + recording.lines.size());
}

// What readers take as one message. Counted before the first byte is written.
Result<void> CheckSize(const Recording& recording) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (AtMost(recording) <= kMax) {
    return {};
  }
  std::uint64_t bytes = 0;
  return Compose(recording, [&bytes](const memtool::pprof::Profile& piece) -> Result<void> {
    bytes += piece.ByteSizeLong();
    if (bytes > kMax) {
      return Fail(ErrorCode::kLimit, "is too large to be written as one protobuf message (2 GiB)");
    }
    return {};
  });
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
  MEMTOOL_TRY(CheckSize(recording));
  GzipWriter gzip(sink);
  std::string bytes;
  MEMTOOL_TRY(Compose(recording, [&](const memtool::pprof::Profile& piece) -> Result<void> {
    if (!piece.SerializeToString(&bytes)) {
      return Fail(ErrorCode::kOutput, "protobuf cannot write the profile");
    }
    return gzip.Add(bytes);
  }));
  return gzip.Finish();
}

}  // namespace memtool::formats
