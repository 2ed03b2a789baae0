#include "json_dump/json_dump_writer.h"

#include <array>

#include "memtool/profile/base/escape.h"
#include "support/json.h"

namespace memtool::formats {

namespace {

class JsonDump {
 public:
  explicit JsonDump(const Recording& recording) : recording_(recording), json_(buffer_) {}

  std::string Run(const Profile& profile) {
    json_.StartObject();
    Key("schema");
    Text("memtool.profile/1");
    Key("format");
    Text(recording_.metadata.format);
    Key("time_nanos");
    json_.Int64(recording_.metadata.time_nanos);
    Key("sample_types");
    json_.StartArray();
    for (const SampleType& type : profile.types) {
      json_.StartObject();
      Key("type");
      Text(recording_.Text(type.type));
      Key("unit");
      Text(recording_.Text(type.unit));
      json_.EndObject();
    }
    json_.EndArray();
    Key("frames");
    Frames();
    Key("samples");
    Samples(profile);
    json_.EndObject();
    return EscapeJson({buffer_.GetString(), buffer_.GetSize()});
  }

 private:
  void Text(std::string_view bytes) {
    const std::string text = ToUtf8(bytes);
    json_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void Key(std::string_view key) { Text(key); }

  // One entry per line of a location; samples refer to them by index.
  void Frames() {
    json_.StartArray();
    for (const Line& line : recording_.lines) {
      json_.StartObject();
      if (line.function.valid()) {
        const Function& function = recording_.functions[line.function.value()];
        Key("name");
        Text(recording_.Text(function.name));
        Key("file");
        Text(recording_.Text(function.filename));
        Key("line");
        json_.Int64(line.line);
      }
      json_.EndObject();
    }
    json_.EndArray();
  }

  void Samples(const Profile& profile) {
    json_.StartArray();
    for (std::size_t i = 0; i < profile.size(); ++i) {
      json_.StartObject();
      Key("values");
      json_.StartArray();
      for (const auto& column : profile.values) {
        json_.Int64(column[i]);
      }
      json_.EndArray();
      Key("frames");  // innermost first
      json_.StartArray();
      for (const LocationId id : recording_.Stack(profile.stacks[i])) {
        const Location& location = recording_.At(id);
        for (std::uint32_t k = 0; k < location.line_count; ++k) {
          json_.Uint(location.first_line + k);
        }
      }
      json_.EndArray();
      Key("labels");
      json_.StartArray();
      for (const Label& label : recording_.Labels(profile.label_sets[i])) {
        json_.StartObject();
        Key("key");
        Text(recording_.Text(label.key));
        Key("value");
        if (label.numeric) {
          json_.Int64(label.number);
          Key("unit");
          Text(recording_.Text(label.unit));
        } else {
          Text(recording_.Text(label.text));
        }
        json_.EndObject();
      }
      json_.EndArray();
      json_.EndObject();
    }
    json_.EndArray();
  }

  const Recording& recording_;
  JsonBuffer buffer_;
  JsonWriter json_;
};

}  // namespace

std::span<const std::string_view> JsonDumpWriter::endings() const {
  static constexpr std::array<std::string_view, 1> kEndings{".json"};
  return kEndings;
}

Result<void> JsonDumpWriter::Write(const Recording& recording, const WriteOptions& /*options*/,
                                   const ByteSink& sink) const {
  if (!recording.profile) {
    return Fail(ErrorCode::kUnsupported, "holds no samples, so it cannot be written as JSON");
  }
  return sink(JsonDump(recording).Run(*recording.profile) + "\n");
}

}  // namespace memtool::formats
