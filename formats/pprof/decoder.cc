#include "pprof/decoder.h"

#include <array>
#include <utility>

namespace memtool::formats::pprof {

namespace {

constexpr std::size_t kMaxSampleTypes = 1024;

void CheckId(std::uint64_t id, std::uint64_t offset) {
  if (id == 0) {
    ThrowRead(ErrorCode::kMalformed, offset, "id", "is the reserved id 0");
  }
}

}  // namespace

Error Decoder::WithRecord(Error error) const {
  struct Table {
    const char* name;
    std::size_t rows;
  };
  const std::array<Table, 7> tables{{{nullptr, 0},
                                     {"sample_type", types_.size()},
                                     {"sample", samples_.size()},
                                     {"mapping", mappings_.size()},
                                     {"location", locations_.size()},
                                     {"function", functions_.size()},
                                     {"string_table", strings_.size()}}};
  const Table& table = tables[number_ < tables.size() ? number_ : 0];
  if (table.name != nullptr) {
    const std::string place = fmt::format("{}[{}]", table.name, table.rows);
    error.field = error.field.empty() ? place : place + "." + error.field;
  }
  return error;
}

void Decoder::Sample(std::span<const std::byte> message, std::uint64_t offset) {
  if (samples_.size() >= limits_.samples) {
    ThrowRead(ErrorCode::kLimit, offset, {}, fmt::format("more than {} samples", samples_.size()),
              "lift it with --max samples=N");
  }
  samples_.Add(message, offset);
}

void Decoder::Field(const wire::Field& field) {
  if (field.number > 6) {
    Scalar(field);
    return;
  }
  field.Expect(wire::kLength, "");
  const ByteCursor message(field.bytes, field.offset);
  switch (field.number) {
    case 1:
      if (types_.size() == kMaxSampleTypes) {
        ThrowRead(ErrorCode::kLimit, message.offset(), "sample_type",
                  fmt::format("more than {} sample types", kMaxSampleTypes));
      }
      types_.push_back(ValueType(message));
      break;
    case 2:
      Sample(field.bytes, field.offset);
      break;
    case 3:
      AddMapping(message);
      break;
    case 4:
      AddLocation(message);
      break;
    case 5:
      AddFunction(message);
      break;
    default:
      AddString(field);
      break;
  }
}

void Decoder::Scalar(const wire::Field& field) {
  Metadata& metadata = builder_.metadata();
  switch (field.number) {
    case 7:
      drop_frames_ = field.Varint("drop_frames");
      break;
    case 8:
      keep_frames_ = field.Varint("keep_frames");
      break;
    case 9:
      if (metadata.time_nanos != 0) {
        ThrowRead(ErrorCode::kMalformed, field.offset, "time_nanos",
                  "occurs twice: two profiles were written one after the other",
                  "split the file where the second begins");
      }
      metadata.time_nanos = field.Int("time_nanos");
      break;
    case 10:
      metadata.duration_nanos = field.Int("duration_nanos");
      break;
    case 11:
      period_type_ = ValueType(field.Message("period_type"));
      break;
    case 12:
      metadata.period = field.Int("period");
      break;
    case 13:
      AddComments(field);
      break;
    case 14:
      default_type_ = field.Varint("default_sample_type");
      break;
    case 15:
      doc_url_ = field.Varint("doc_url");
      break;
    default:
      break;  // unknown fields are for newer readers
  }
}

Decoder::WireValueType Decoder::ValueType(ByteCursor message) {
  WireValueType type;
  while (!message.done()) {
    const wire::Field field = wire::Next(message);
    if (field.number == 1) {
      type.type = field.Varint("type");
    } else if (field.number == 2) {
      type.unit = field.Varint("unit");
    }
  }
  return type;
}

void Decoder::AddMapping(ByteCursor message) {
  WireMapping wire;
  std::uint64_t id = 0;
  const std::uint64_t offset = message.offset();
  while (!message.done()) {
    const wire::Field field = wire::Next(message);
    switch (field.number) {
      case 1:
        id = field.Varint("id");
        break;
      case 2:
        wire.mapping.start = field.Varint("memory_start");
        break;
      case 3:
        wire.mapping.limit = field.Varint("memory_limit");
        break;
      case 4:
        wire.mapping.offset = field.Varint("file_offset");
        break;
      case 5:
        wire.filename = field.Varint("filename");
        break;
      case 6:
        wire.build_id = field.Varint("build_id");
        break;
      case 7:
        wire.mapping.has_functions = field.Bool("has_functions");
        break;
      case 8:
        wire.mapping.has_filenames = field.Bool("has_filenames");
        break;
      case 9:
        wire.mapping.has_line_numbers = field.Bool("has_line_numbers");
        break;
      case 10:
        wire.mapping.has_inline_frames = field.Bool("has_inline_frames");
        break;
      default:
        break;
    }
  }
  CheckId(id, offset);
  mapping_ids_.push_back(id);
  mappings_.push_back(wire);
}

void Decoder::AddLocation(ByteCursor message) {
  WireLocation location{.first_line = static_cast<std::uint32_t>(lines_.size())};
  std::uint64_t id = 0;
  const std::uint64_t offset = message.offset();
  while (!message.done()) {
    const wire::Field field = wire::Next(message);
    switch (field.number) {
      case 1:
        id = field.Varint("id");
        break;
      case 2:
        location.mapping = field.Varint("mapping_id");
        break;
      case 3:
        location.address = field.Varint("address");
        break;
      case 4:
        AddLine(field.Message("line"));
        break;
      case 5:
        location.folded = field.Bool("is_folded");
        break;
      default:
        break;
    }
  }
  CheckId(id, offset);
  location.line_count = static_cast<std::uint32_t>(lines_.size()) - location.first_line;
  location_ids_.push_back(id);
  locations_.push_back(location);
}

void Decoder::AddLine(ByteCursor message) {
  WireLine line;
  while (!message.done()) {
    const wire::Field field = wire::Next(message);
    if (field.number == 1) {
      line.function = field.Varint("line.function_id");
    } else if (field.number == 2) {
      line.line = field.Int("line.line");
    } else if (field.number == 3) {
      line.column = field.Int("line.column");
    }
  }
  lines_.push_back(line);
}

void Decoder::AddFunction(ByteCursor message) {
  WireFunction function;
  std::uint64_t id = 0;
  const std::uint64_t offset = message.offset();
  while (!message.done()) {
    const wire::Field field = wire::Next(message);
    switch (field.number) {
      case 1:
        id = field.Varint("id");
        break;
      case 2:
        function.name = field.Varint("name");
        break;
      case 3:
        function.system_name = field.Varint("system_name");
        break;
      case 4:
        function.filename = field.Varint("filename");
        break;
      case 5:
        function.start_line = field.Int("start_line");
        break;
      default:
        break;
    }
  }
  CheckId(id, offset);
  function_ids_.push_back(id);
  functions_.push_back(function);
}

void Decoder::AddString(const wire::Field& field) {
  if (strings_.empty() && !field.bytes.empty()) {
    ThrowRead(ErrorCode::kMalformed, field.offset, {}, "the first string must be empty");
  }
  if (field.bytes.size() > limits_.string_bytes) {
    ThrowRead(ErrorCode::kLimit, field.offset, {},
              fmt::format("a string of {} bytes, over the limit of {}", field.bytes.size(),
                          limits_.string_bytes),
              "lift it with --max string-bytes=SIZE");
  }
  strings_.push_back(builder_.Intern(AsText(field.bytes)));
}

void Decoder::AddComments(const wire::Field& field) {
  if (field.type == wire::kVarint) {
    comments_.push_back(field.value);
    return;
  }
  ByteCursor packed = field.Message("comment");
  while (!packed.done()) {
    comments_.push_back(packed.Varint());
  }
}

}  // namespace memtool::formats::pprof
