#include "json_dump/json_dump_writer.h"

#include <array>
#include <string>
#include <vector>

#include "memtool/profile/base/escape.h"
#include "support/json.h"

namespace memtool::formats {

namespace {

class JsonDump {
 public:
  // Both are kept by reference.
  JsonDump(const Recording& recording, const ByteSink& sink)
      : recording_(recording), sink_(sink), json_(buffer_) {}

  Result<void> Run(const Profile& profile) {
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
    buffer_.Put('\n');
    Hand();
    return state_;
  }

 private:
  void Text(std::string_view bytes) {
    const std::string text = ToUtf8(bytes);
    json_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void Key(std::string_view key) { Text(key); }

  // Hands over what there is, at ends of records: the writer knows by itself where it stands.
  void HandIfMuch() {
    constexpr std::size_t kChunk = std::size_t{64} << 10U;
    if (buffer_.GetSize() >= kChunk) {
      Hand();
    }
  }
  void Hand() {
    if (state_) {
      state_ = sink_(EscapeJson({buffer_.GetString(), buffer_.GetSize()}));
    }
    buffer_.Clear();
  }

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
      HandIfMuch();
    }
    json_.EndArray();
  }

  void Samples(const Profile& profile) {
    std::vector<std::string> labels(recording_.label_set_count());
    json_.StartArray();
    for (std::size_t i = 0; i < profile.size() && state_; ++i) {
      json_.StartObject();
      json_.Key("values");
      json_.StartArray();
      for (const auto& column : profile.values) {
        json_.Int64(column[i]);
      }
      json_.EndArray();
      json_.Key("frames");  // innermost first
      json_.StartArray();
      for (const LocationId id : recording_.Stack(profile.stacks[i])) {
        const Location& location = recording_.At(id);
        for (std::uint32_t k = 0; k < location.line_count; ++k) {
          json_.Uint(location.first_line + k);
        }
      }
      json_.EndArray();
      json_.Key("labels");
      std::string& text = labels[profile.label_sets[i].value()];
      if (text.empty()) {
        text = Labels(profile.label_sets[i]);
      }
      json_.RawValue(text.data(), text.size(), rapidjson::kArrayType);
      json_.EndObject();
      HandIfMuch();
    }
    json_.EndArray();
  }

  // Made once per label set: samples share them.
  [[nodiscard]] std::string Labels(LabelSetId set) const {
    JsonBuffer buffer;
    JsonWriter json(buffer);
    const auto text = [&json](std::string_view bytes) {
      const std::string valid = ToUtf8(bytes);
      json.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
    };
    json.StartArray();
    for (const Label& label : recording_.Labels(set)) {
      json.StartObject();
      json.Key("key");
      text(recording_.Text(label.key));
      json.Key("value");
      if (label.numeric) {
        json.Int64(label.number);
        json.Key("unit");
        text(recording_.Text(label.unit));
      } else {
        text(recording_.Text(label.text));
      }
      json.EndObject();
    }
    json.EndArray();
    return {buffer.GetString(), buffer.GetSize()};
  }

  const Recording& recording_;
  const ByteSink& sink_;
  Result<void> state_;  // the first error of the sink
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
  return JsonDump(recording, sink).Run(*recording.profile);
}

}  // namespace memtool::formats
