#include "memtool_file/recording_reader.h"

#include <iterator>
#include <span>
#include <utility>

#include "memtool/profile/rows/table.h"
#include "support/read_error.h"

namespace memtool::formats::memtool_file {

template <class Row>
void RecordingReader::Append(std::vector<Row>& to) {
  std::vector<Row> rows = Rows<Row>();
  to.insert(to.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
}

std::vector<std::size_t> RecordingReader::Begins(std::size_t bytes_of_item) {
  std::vector<std::uint64_t> lengths;
  in_.Numbers(1, "length", in_.rows(), lengths);
  std::vector<std::size_t> begins{0};
  begins.reserve(lengths.size() + 1);
  for (const std::uint64_t length : lengths) {
    if (length > kMaxItems - begins.back()) {
      in_.Refuse("length", fmt::format("more than {} items in one section", kMaxItems));
    }
    begins.push_back(begins.back() + static_cast<std::size_t>(length));
  }
  in_.Charge(begins.back(), bytes_of_item);
  return begins;
}

void RecordingReader::ReadAbout() {
  if (in_.rows() != 1) {
    in_.Refuse("rows", "there must be one");
  }
  known_.strings = Id<int>::kNone;  // they come next: checked in Finish()
  about_ = std::move(Rows<About>().front());
  known_.strings = 1;
  if (!about_.default_by.empty() && !ParseBy(about_.default_by)) {
    in_.Refuse("default_by", "is no way to split rows");
  }
}

void RecordingReader::ReadStrings() {
  for (const std::string_view text : in_.Texts(1, "text", in_.rows())) {
    if (builder_.Intern(text).value() != known_.strings) {
      in_.Refuse("text", fmt::format("string {} is there twice", known_.strings));
    }
    ++known_.strings;
  }
}

void RecordingReader::ReadLocations() {
  const auto begins = Begins(sizeof(Line));
  const auto locations = Rows<Location>();
  const auto lines = UnpackRows<Line>(in_, known_, begins.back());
  for (std::size_t row = 0; row < locations.size(); ++row) {
    builder_.AddLocation(locations[row],
                         std::span(lines).subspan(begins[row], begins[row + 1] - begins[row]));
  }
  known_.locations += locations.size();
}

void RecordingReader::ReadStacks() {
  const auto begins = Begins(sizeof(LocationId));
  const auto items = UnpackRows<LocationId>(in_, known_, begins.back());
  for (std::size_t row = 0; row + 1 < begins.size(); ++row) {
    builder_.AddStack(std::span(items).subspan(begins[row], begins[row + 1] - begins[row]));
  }
  known_.stacks += in_.rows();
}

void RecordingReader::ReadLabelSets() {
  const auto begins = Begins(sizeof(Label));
  const auto labels = UnpackRows<Label>(in_, known_, begins.back());
  for (std::size_t row = 0; row + 1 < begins.size(); ++row) {
    known_.label_sets.push_back(builder_.InternLabels(
        std::span(labels).subspan(begins[row], begins[row + 1] - begins[row])));
  }
}

void RecordingReader::ReadSamples() {
  if (samples_.stacks.size() + in_.rows() > limits_.samples) {
    ThrowRead(ErrorCode::kLimit, in_.offset(), "samples",
              fmt::format("more than {} samples", limits_.samples), "lift it with --max samples=N");
  }
  if (types_.empty() && in_.rows() > 0) {
    in_.Refuse("values", "there are samples, and nothing says what they measure");
  }
  in_.Charge(in_.rows(), types_.size() * sizeof(std::int64_t));
  std::vector<std::uint64_t> words;
  const auto read = [this, &words](std::uint32_t number, const char* name, auto& to) {
    using Value = typename std::decay_t<decltype(to)>::value_type;
    in_.Numbers(number, name, in_.rows(), words);
    for (const std::uint64_t word : words) {
      to.push_back(ToValue<Value>(in_, known_, name, word));
    }
  };
  read(kSampleStack, "stack", samples_.stacks);
  read(kSampleLabels, "labels", samples_.label_sets);
  samples_.values.resize(types_.size());
  std::uint32_t number = kFirstValue;
  for (auto& values : samples_.values) {
    read(number++, "values", values);
  }
}

void RecordingReader::ReadBreakdowns() {
  const auto begins = Begins(sizeof(BreakdownPart));
  auto breakdowns = Rows<Breakdown>();
  const auto parts = UnpackRows<BreakdownPart>(in_, known_, begins.back());
  for (std::size_t row = 0; row < breakdowns.size(); ++row) {
    breakdowns[row].first_part = static_cast<std::uint32_t>(history_.parts.size() + begins[row]);
    breakdowns[row].part_count = static_cast<std::uint32_t>(begins[row + 1] - begins[row]);
  }
  history_.breakdowns.insert(history_.breakdowns.end(), breakdowns.begin(), breakdowns.end());
  history_.parts.insert(history_.parts.end(), parts.begin(), parts.end());
}

void RecordingReader::SymbolsSection(Table table) {
  switch (table) {
    case Table::kAbout:
      return ReadAbout();
    case Table::kStrings:
      return ReadStrings();
    case Table::kMappings:
      for (const Mapping& mapping : Rows<Mapping>()) {
        builder_.AddMapping(mapping);
      }
      known_.mappings += in_.rows();
      return;
    case Table::kFunctions:
      for (const Function& function : Rows<Function>()) {
        builder_.AddFunction(function);
      }
      known_.functions += in_.rows();
      return;
    case Table::kLocations:
      return ReadLocations();
    case Table::kStacks:
      return ReadStacks();
    default:
      return ReadLabelSets();
  }
}

void RecordingReader::ListSection(Table table) {
  switch (table) {
    case Table::kComments:
      return Append(builder_.metadata().comments);
    case Table::kDeviceNames:
      return Append(builder_.metadata().origin.device_names);
    case Table::kDiagnostics:
      for (Diagnostic& diagnostic : Rows<Diagnostic>()) {
        builder_.AddDiagnostic(std::move(diagnostic));
      }
      return;
    case Table::kBlindSpots:
      for (BlindSpot& spot : Rows<BlindSpot>()) {
        builder_.AddBlindSpot(std::move(spot.what), std::move(spot.why));
      }
      return;
    case Table::kCounters:
      for (const Counter& counter : Rows<Counter>()) {
        builder_.AddCounter(counter);
      }
      return;
    case Table::kSettings:
      for (Setting& setting : Rows<Setting>()) {
        builder_.AddSetting(std::move(setting.name), std::move(setting.value));
      }
      return;
    case Table::kSampleTypes:
      return Append(types_);
    case Table::kSamples:
      return ReadSamples();
    default:
      return Append(samples_.unknown_size);
  }
}

void RecordingReader::HistorySection(Table table) {
  switch (table) {
    case Table::kDomains:
      return Append(history_.domains);
    case Table::kTraces:
      return Append(history_.traces);
    case Table::kStreams:
      return Append(history_.streams);
    case Table::kMarks:
      return Append(history_.marks);
    case Table::kEvents:
      return events_.Unpack(in_, known_, about_.has_event_labels, history_);
    case Table::kMapped:
      return Append(history_.mapped);
    case Table::kBreakdowns:
      return ReadBreakdowns();
    case Table::kSegments:
      return Append(state_.segments);
    case Table::kStatements:
      for (const Statement& statement : Rows<Statement>()) {
        builder_.AddStatement(statement);
      }
      return;
    case Table::kUnreadLines:
      for (UnreadLine& line : Rows<UnreadLine>()) {
        builder_.AddUnreadLine(std::move(line));
      }
      return;
    default:
      return Append(state_.blocks);
  }
}

void RecordingReader::Section() {
  if (in_.table() >= kTableNames.size()) {
    ++skipped_["sections"];
    return;
  }
  if (in_.table() < last_ ||
      (last_ == 0) != (in_.table() == static_cast<std::uint32_t>(Table::kAbout))) {
    in_.Refuse("rows", last_ == 0 ? "the first section must be about" : "comes out of its order");
  }
  last_ = in_.table();
  const auto table = static_cast<Table>(last_);
  if (table <= Table::kLabelSets) {
    SymbolsSection(table);
  } else if (table <= Table::kUnknownSizes) {
    ListSection(table);
  } else {
    HistorySection(table);
  }
  if (const std::size_t unread = in_.Unread(); unread > 0) {
    skipped_[fmt::format("columns of {}", kTableNames[last_])] += unread;
  }
}

// The metadata that is no list: those have been filled.
void RecordingReader::TakeAbout() {
  for (const StringId id : {about_.period_type, about_.period_unit, about_.drop_frames,
                            about_.keep_frames, about_.doc_url, about_.default_type}) {
    if (id.valid() && id.value() >= known_.strings) {
      ThrowRead(ErrorCode::kMalformed, in_.offset(), "about", "names a string that does not exist");
    }
  }
  Metadata& to = builder_.metadata();
  to.format = about_.format;
  to.format_display = about_.display;
  to.packing = about_.packing;
  to.unpacked_bytes = about_.unpacked_bytes;
  to.origin.framework = about_.framework;
  to.origin.kind = about_.kind;
  to.origin.platform = about_.platform;
  to.origin.schema = about_.schema;
  to.origin.host = about_.host;
  to.origin.rank = about_.rank;
  to.origin.process = about_.process;
  to.default_by = about_.default_by;
  to.frames_are_scopes = about_.frames_are_scopes;
  to.time_nanos = about_.time_nanos;
  to.duration_nanos = about_.duration_nanos;
  to.period_type = {
      .type = about_.period_type, .unit = about_.period_unit, .role = about_.period_role};
  to.period = about_.period;
  to.drop_frames = about_.drop_frames;
  to.keep_frames = about_.keep_frames;
  to.doc_url = about_.doc_url;
  to.log_text = std::move(about_.log_text);
}

Result<Recording> RecordingReader::Finish() {
  TakeAbout();
  if (about_.has_profile) {
    samples_.values.resize(types_.size());
    builder_.StartProfile(std::move(types_), about_.default_type);
    builder_.SetSamples(std::move(samples_.stacks), std::move(samples_.label_sets),
                        std::move(samples_.values));
    builder_.SetUnknownSizes(std::move(samples_.unknown_size));
    if (about_.format != "pprof") {  // which may be the difference of two
      builder_.SamplesAreAmounts();
    }
  }
  if (about_.has_history) {
    history_.clock = about_.clock;
    builder_.SetHistory(std::move(history_));
  }
  if (about_.has_state) {
    builder_.SetState(std::move(state_));
  }
  for (const auto& [what, count] : skipped_) {
    builder_.AddDiagnostic(Severity::kNote, "skipped_section",
                           "parts that a newer memtool wrote are passed over: " + what, count);
  }
  auto recording = std::move(builder_).Finish();
  if (!recording) {
    recording.error().offset = in_.offset();  // where all of it has been read
  }
  return recording;
}

Result<Recording> RecordingReader::Run() {
  in_.Header();
  while (in_.Next()) {
    Section();
  }
  if (last_ == 0) {
    ThrowRead(ErrorCode::kMalformed, in_.offset(), "about", "is missing");
  }
  return Finish();
}

}  // namespace memtool::formats::memtool_file
