// The second half of reading: the file's own ids and string indices become rows of the Recording.
#include <algorithm>
#include <array>
#include <utility>

#include "pprof/decoder.h"

namespace memtool::formats::pprof {

namespace {

[[noreturn]] void ThrowAt(std::string field, std::string message, std::string hint = {}) {
  throw ReadError(Error{.code = ErrorCode::kMalformed,
                        .input = {},
                        .field = std::move(field),
                        .message = std::move(message),
                        .hint = std::move(hint)});
}

// The bytes were interned, so their offset is lost; the first sample that has them serves as the
// place.
template <class Id>
ReadError InSample(const ReadError& inner, const RowVector<Id>& column, std::uint32_t id,
                   const char* field) {
  Error error = inner.error();
  error.offset.reset();
  error.field = fmt::format("sample[{}].{}{}{}",
                            std::find(column.begin(), column.end(), Id(id)) - column.begin(), field,
                            error.field.empty() ? "" : ".", error.field);
  return ReadError(std::move(error));
}

void BuildRows(IdMap& map, std::span<const std::uint64_t> ids, const char* table) {
  const std::uint32_t duplicate = map.Build(ids);
  if (duplicate != IdMap::kNone) {
    ThrowAt(fmt::format("{}[{}]", table, duplicate),
            fmt::format("a {} with id {} exists already", table, ids[duplicate]));
  }
}

}  // namespace

StringId Decoder::Text(std::uint64_t index, const char* field, std::size_t row) const {
  if (index >= strings_.size()) {
    ThrowAt(fmt::format("{}[{}]", field, row),
            fmt::format("string index {} is out of range: the table has {} strings", index,
                        strings_.size()));
  }
  return strings_[index];
}

void Decoder::ResolveMetadata() {
  Metadata& metadata = builder_.metadata();
  metadata.drop_frames = Text(drop_frames_, "drop_frames", 0);
  metadata.keep_frames = Text(keep_frames_, "keep_frames", 0);
  metadata.doc_url = Text(doc_url_, "doc_url", 0);
  metadata.period_type.type = Text(period_type_.type, "period_type.type", 0);
  metadata.period_type.unit = Text(period_type_.unit, "period_type.unit", 0);
  for (std::size_t i = 0; i < comments_.size(); ++i) {
    metadata.comments.push_back(Text(comments_[i], "comment", i));
  }
}

std::vector<SampleType> Decoder::ResolveTypes() {
  if (samples_.size() > 0 && types_.empty()) {
    ThrowAt("sample_type", "missing: the profile has samples but does not say what they measure");
  }
  if (samples_.size() > 0 && samples_.value_count() != types_.size()) {
    ThrowAt("sample[0].value",
            fmt::format("{} value(s), but the profile declares {} sample types",
                        samples_.value_count(), types_.size()),
            types_.size() == 2 * samples_.value_count() && types_.size() > 2
                ? "two profiles written one after the other?"
                : "");
  }
  std::vector<SampleType> types;
  for (std::size_t i = 0; i < types_.size(); ++i) {
    SampleType type{.type = Text(types_[i].type, "sample_type.type", i),
                    .unit = Text(types_[i].unit, "sample_type.unit", i)};
    type.role = GetRole(builder_.Text(type.type), builder_.Text(type.unit));
    types.push_back(type);
  }
  return types;
}

void Decoder::ResolveMappings() {
  BuildRows(mapping_rows_, mapping_ids_, "mapping");
  for (std::size_t i = 0; i < mappings_.size(); ++i) {
    Mapping mapping = mappings_[i].mapping;
    mapping.filename = Text(mappings_[i].filename, "mapping.filename", i);
    mapping.build_id = Text(mappings_[i].build_id, "mapping.build_id", i);
    builder_.AddMapping(mapping);
  }
}

void Decoder::ResolveFunctions() {
  BuildRows(function_rows_, function_ids_, "function");
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const WireFunction& wire = functions_[i];
    builder_.AddFunction({.name = Text(wire.name, "function.name", i),
                          .system_name = Text(wire.system_name, "function.system_name", i),
                          .filename = Text(wire.filename, "function.filename", i),
                          .start_line = wire.start_line});
  }
}

void Decoder::ResolveLocations() {
  BuildRows(location_rows_, location_ids_, "location");
  builder_.ReserveLocations(locations_.size(), lines_.size());
  std::vector<Line> lines;
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const WireLocation& wire = locations_[i];
    Location location{.address = wire.address, .folded = wire.folded};
    if (wire.mapping != 0) {
      const std::uint32_t row = mapping_rows_.Row(wire.mapping);
      if (row == IdMap::kNone) {
        ++unknown_mappings_;  // pprof reads on, and so do we, but not silently
      } else {
        location.mapping = MappingId(row);
      }
    }
    lines.clear();
    for (const WireLine& line : std::span(lines_).subspan(wire.first_line, wire.line_count)) {
      const std::uint32_t row = function_rows_.Row(line.function);
      if (row == IdMap::kNone) {
        ThrowAt(fmt::format("location[{}].line", i),
                fmt::format("refers to function id {}, which does not exist", line.function));
      }
      lines.push_back({FunctionId(row), line.line, line.column});
    }
    builder_.AddLocation(location, lines);
  }
  builder_.AddDiagnostic(Severity::kDamage, "unknown_mapping",
                         "locations refer to mappings that do not exist", unknown_mappings_);
}

void Decoder::ResolveStacks() {
  StackInterner& stacks = samples_.distinct_stacks();
  for (std::uint32_t id = 0; id < stacks.size(); ++id) {
    try {
      stacks.Resolve(StackId(id), location_rows_);
    } catch (const ReadError& error) {
      throw InSample(error, samples_.stacks(), id, "location_id");
    }
  }
  builder_.SetStacks(std::move(stacks).Take());
}

LabelSetId Decoder::ResolveLabelSet(std::span<const std::byte> bytes, std::vector<Label>& labels) {
  labels.clear();
  ByteCursor cursor(bytes, 0);
  while (!cursor.done()) {
    ByteCursor message = wire::Next(cursor).Message("label");
    std::uint64_t key = 0;
    std::uint64_t text = 0;
    std::uint64_t unit = 0;
    Label label;
    while (!message.done()) {
      const wire::Field field = wire::Next(message);
      switch (field.number) {
        case 1:
          key = field.Varint("key");
          break;
        case 2:
          text = field.Varint("str");
          break;
        case 3:
          label.number = field.Int("num");
          break;
        case 4:
          unit = field.Varint("num_unit");
          break;
        default:
          break;
      }
    }
    if (text == 0 && label.number == 0 && unit == 0) {
      continue;  // pprof reads such a label as absent
    }
    label.key = Text(key, "label.key", labels.size());
    label.text = Text(text, "label.str", labels.size());
    label.unit = Text(unit, "label.num_unit", labels.size());
    label.numeric = text == 0;
    labels.push_back(label);
  }
  return builder_.InternLabels(labels);
}

std::vector<LabelSetId> Decoder::ResolveLabelSets() {
  std::vector<LabelSetId> by_bytes;
  std::vector<Label> labels;
  const ByteInterner& interned = samples_.label_bytes();
  for (std::uint32_t id = 0; id < interned.size(); ++id) {
    try {
      by_bytes.push_back(ResolveLabelSet(interned[id], labels));
    } catch (const ReadError& error) {
      throw InSample(error, samples_.label_sets(), id, "label");
    }
  }
  return by_bytes;
}

// Per label set: is it JAX's kind=executable? Nothing when no label is JAX's.
std::optional<std::vector<char>> Decoder::JaxExecutables(
    const std::vector<LabelSetId>& label_sets) const {
  const Profile& profile = builder_.profile();
  const bool jax_types = profile.types.size() == 2 &&
                         builder_.Text(profile.types[0].type) == "allocations" &&
                         builder_.Text(profile.types[1].type) == "space";
  std::vector<char> executable(builder_.label_set_count(), 0);
  bool jax = false;
  for (const LabelSetId set : label_sets) {
    for (const Label& label : builder_.Labels(set)) {
      const std::string_view kind = builder_.Text(label.text);
      if (builder_.Text(label.key) == "kind" && (kind == "buffer" || kind == "executable")) {
        jax = true;
        executable[set.value()] = kind == "executable" ? 1 : 0;
      }
    }
  }
  return jax && jax_types ? std::optional(std::move(executable)) : std::nullopt;
}

// The number of the process in a job that wrote a profile, as JAX names the devices of others than
// CUDA: "TPU_4(process=1,(0,1,0,0))". Empty where devices of several are in it, or none says.
std::string Decoder::JaxProcess() const {
  constexpr std::string_view kProcess = "(process=";
  constexpr std::size_t kLongest = 64;
  std::string_view process;
  for (std::uint32_t set = 0; set < builder_.label_set_count(); ++set) {
    for (const Label& label : builder_.Labels(LabelSetId(set))) {
      const std::string_view text = builder_.Text(label.text).substr(0, kLongest);
      const std::size_t at = text.find(kProcess);
      if (label.numeric || at == std::string_view::npos || builder_.Text(label.key) != "device") {
        continue;
      }
      const std::string_view rest = text.substr(at + kProcess.size());
      const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789"));
      if (number.empty() || (!process.empty() && process != number)) {
        return {};
      }
      process = number;
    }
  }
  return std::string(process);
}

// JAX names TPUs "TPU_4(…)", and GPUs "cuda:0".
bool Decoder::OfTpus() const {
  for (std::uint32_t set = 0; set < builder_.label_set_count(); ++set) {
    for (const Label& label : builder_.Labels(LabelSetId(set))) {
      if (!label.numeric && builder_.Text(label.key) == "device" &&
          builder_.Text(label.text).starts_with("TPU_")) {
        return true;
      }
    }
  }
  return false;
}

// JAX writes its device memory profiles as pprof: allocations/count and space/bytes, with labels
// kind=buffer|executable. It writes -1 for the size of an executable that it does not know.
void Decoder::NoteJax(const std::vector<LabelSetId>& label_sets) {
  const auto executable = JaxExecutables(label_sets);
  builder_.metadata().format_display =
      executable ? "JAX device memory profile (pprof)" : "pprof profile";
  if (!executable) {
    return;
  }
  builder_.metadata().origin.framework = Framework::kJax;
  builder_.metadata().origin.rank = JaxProcess();
  const bool tpus = OfTpus();
  builder_.metadata().origin.platform = tpus ? "TPU" : "";
  builder_.AddBlindSpot("memory inside jit-compiled functions",
                        "only live buffers and executables are listed, not XLA's temporaries");
  builder_.AddBlindSpot("the allocator's reserve and fragmentation",
                        "XLA preallocates; the profile counts buffers");
  builder_.AddBlindSpot("other libraries and processes",
                        tpus ? "what the TPU's runtime keeps" : "NCCL, cuDNN, CUDA context");
  const Profile& profile = builder_.profile();
  std::vector<std::uint32_t> unknown;
  std::uint64_t executables = 0;
  for (std::uint32_t i = 0; i < profile.size(); ++i) {
    const std::int64_t bytes = profile.values[1][i];
    const std::int64_t count = profile.values[0][i];
    if (bytes < 0 && count > 0 && bytes == -count &&
        (*executable)[profile.label_sets[i].value()] != 0) {
      unknown.push_back(i);
      executables += static_cast<std::uint64_t>(count);
    }
  }
  builder_.AddDiagnostic(Severity::kNote, "unknown_size",
                         "executables whose size the runtime did not know (-1); counted apart, not "
                         "as bytes",
                         executables);
  builder_.SetUnknownSizes(std::move(unknown));
}

Result<Recording> Decoder::Finish() && {
  samples_.Flush();
  if (strings_.empty()) {
    ThrowAt("string_table", "missing: this is not a whole profile");
  }
  ResolveMetadata();
  builder_.StartProfile(ResolveTypes(), Text(default_type_, "default_sample_type", 0));
  ResolveMappings();
  ResolveFunctions();
  ResolveLocations();
  ResolveStacks();
  const std::vector<LabelSetId> by_bytes = ResolveLabelSets();

  for (LabelSetId& set : samples_.label_sets()) {
    set = by_bytes[set.value()];
  }
  samples_.sums().resize(types_.size());
  samples_.values().resize(types_.size());
  builder_.SetSamples(std::move(samples_.stacks()), std::move(samples_.label_sets()),
                      std::move(samples_.values()));
  builder_.SetSampleSums(std::move(samples_.sums()));
  NoteJax(by_bytes);
  return std::move(builder_).Finish();
}

}  // namespace memtool::formats::pprof
