// What the JSON of memtool timeline holds beside its rows; the keys are a contract
// (memtool-timeline(1)).
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "output/escape.h"
#include "timeline/timeline_series.h"

namespace memtool::commands {

namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void PutText(Json& json, const char* key, std::string_view bytes) {
  const std::string text = ToUtf8(bytes);
  json.Key(key);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void PutNumber(Json& json, const char* key, std::int64_t value) {
  json.Key(key);
  json.Int64(value);
}

void PutTime(Json& json, const char* key, std::int64_t nanos) {
  json.Key(key);
  if (nanos == kNoTime) {
    json.Null();
  } else {
    json.Int64(nanos / 1000);
  }
}

void PutLayers(Json& json, const Series& series) {
  json.StartArray();
  for (const SeriesLayer& layer : series.layers) {
    json.StartObject();
    PutText(json, "key", layer.key);
    PutText(json, "name", layer.group.name);
    PutText(json, "file", layer.group.file);
    json.Key("line");
    if (layer.group.line > 0) {
      json.Int64(layer.group.line);
    } else {
      json.Null();
    }
    json.EndObject();
  }
  json.EndArray();
}

void PutOoms(Json& json, const Recording& recording, const Series& series) {
  json.StartArray();
  for (const TraceSeries& one : series.traces) {
    const Trace& trace = recording.history->traces[one.trace];
    for (const std::uint64_t event : one.summary.ooms) {
      const Event& oom = recording.history->events[trace.first_event + event];
      json.StartObject();
      PutNumber(json, "event", static_cast<std::int64_t>(event));
      PutTime(json, "time_us", oom.time);
      PutNumber(json, "device", trace.device);
      PutNumber(json, "asked", oom.size);
      json.EndObject();
    }
  }
  json.EndArray();
}

void PutMarks(Json& json, const Recording& recording) {
  json.StartArray();
  for (const Mark& mark : recording.history->marks) {
    json.StartObject();
    PutText(json, "name", mark.name);
    PutNumber(json, "device", mark.device);
    PutTime(json, "begin_us", mark.begin);
    PutTime(json, "end_us", mark.end);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> SeriesJson(const Recording& recording,
                                                            const Series& series) {
  std::vector<std::pair<std::string, std::string>> members;
  const auto add = [&members](const char* key, const auto& write) {
    rapidjson::StringBuffer buffer;
    Json json(buffer);
    write(json);
    members.emplace_back(key, std::string(buffer.GetString(), buffer.GetSize()));
  };
  add("layers", [&](Json& json) { PutLayers(json, series); });
  add("ooms", [&](Json& json) { PutOoms(json, recording, series); });
  add("marks", [&](Json& json) { PutMarks(json, recording); });
  return members;
}

}  // namespace memtool::commands
