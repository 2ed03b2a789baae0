// The JSON half of memtool info; its keys are a contract (memtool-info(1)).
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <functional>

#include "info/info_card.h"
#include "output/escape.h"

namespace memtool::commands {

namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void Text(Json& json, std::string_view bytes) {
  const std::string text = ToUtf8(bytes);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void Number(Json& json, const char* key, std::int64_t value) {
  json.Key(key);
  json.Int64(value);
}

std::string Rendered(const std::function<void(Json&)>& write) {
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  write(json);
  return {buffer.GetString(), buffer.GetSize()};
}

void Types(Json& json, const InputCard& card) {
  json.StartArray();
  for (const TypeTotal& type : card.types) {
    json.StartObject();
    json.Key("type");
    Text(json, type.type);
    json.Key("unit");
    Text(json, type.unit);
    Number(json, "total", type.total);
    json.EndObject();
  }
  json.EndArray();
}

void Ledgers(Json& json, const Recording& recording) {
  json.StartArray();
  if (recording.history) {
    for (const Ledger& ledger : recording.history->ledgers) {
      json.StartObject();
      json.Key("name");
      Text(json, ledger.name);
      Number(json, "device", ledger.device);
      json.Key("kind");
      constexpr const char* kKinds[] = {"device", "managed", "pinned", "host", "vmm", "cpu"};
      json.String(kKinds[static_cast<std::size_t>(ledger.kind)]);
      json.Key("level");
      constexpr const char* kLevels[] = {"driver", "allocator", "user"};
      json.String(kLevels[static_cast<std::size_t>(ledger.level)]);
      json.Key("parent");
      if (ledger.parent.valid()) {
        json.Uint(ledger.parent.value());
      } else {
        json.Null();
      }
      json.EndObject();
    }
  }
  json.EndArray();
}

void Device(Json& json, const DeviceCard& card) {
  const TraceSummary& s = card.summary;
  json.StartObject();
  Number(json, "device", s.device);
  json.Key("name");
  Text(json, card.name);
  Number(json, "events", static_cast<std::int64_t>(s.events));
  Number(json, "base_bytes", s.base_bytes);
  Number(json, "start_bytes", s.start_bytes);
  Number(json, "standing_bytes", s.standing_bytes);
  Number(json, "peak_bytes", s.peak_bytes);
  Number(json, "peak_event", s.peak_event);
  Number(json, "end_bytes", s.end_bytes);
  Number(json, "live_block_bytes", s.live_block_bytes);
  Number(json, "pending_free_bytes", s.pending_free_bytes);
  json.Key("reconciles");
  json.Bool(s.reconciles());
  Number(json, "reserved_base_bytes", s.reserved_base_bytes);
  Number(json, "reserved_peak_bytes", s.reserved_peak_bytes);
  Number(json, "reserved_peak_event", s.reserved_peak_event);
  Number(json, "reserved_end_bytes", s.reserved_end_bytes);
  Number(json, "unmatched_frees", static_cast<std::int64_t>(s.unmatched_frees));
  Number(json, "unmatched_bytes", s.unmatched_bytes);
  Number(json, "ghosts", static_cast<std::int64_t>(s.ghosts));
  Number(json, "ghost_bytes", s.ghost_bytes);
  Number(json, "double_allocs", static_cast<std::int64_t>(s.double_allocs));
  Number(json, "size_changes", static_cast<std::int64_t>(s.size_changes));
  json.Key("overflowed");
  json.Bool(card.overflowed);
  json.Key("oom_events");
  json.StartArray();
  for (const std::uint64_t event : s.ooms) {
    json.Uint64(event);
  }
  json.EndArray();
  json.Key("peak_stacks");
  json.StartObject();
  Number(json, "with_stack_bytes", card.at_peak.with_stack);
  Number(json, "before_recording_bytes", card.at_peak.before_recording);
  Number(json, "without_stack_bytes", card.at_peak.without_stack);
  json.EndObject();
  json.EndObject();
}

void Settings(Json& json, const Recording& recording) {
  json.StartObject();
  for (const Setting& setting : recording.settings) {
    Text(json, setting.name);
    Text(json, setting.value);
  }
  json.EndObject();
}

void Marks(Json& json, const Recording& recording) {
  json.StartArray();
  if (recording.history) {
    for (const Mark& mark : recording.history->marks) {
      json.StartObject();
      json.Key("name");
      Text(json, mark.name);
      Number(json, "device", mark.device);
      for (const auto& [key, time] : {std::pair("begin_ns", mark.begin), {"end_ns", mark.end}}) {
        json.Key(key);
        if (time == kNoTime) {
          json.Null();
        } else {
          json.Int64(time);
        }
      }
      json.EndObject();
    }
  }
  json.EndArray();
}

void BlindSpots(Json& json, const Recording& recording) {
  json.StartArray();
  for (const BlindSpot& blind : recording.blind_spots) {
    json.StartObject();
    json.Key("what");
    Text(json, blind.what);
    json.Key("why");
    Text(json, blind.why);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> CardJson(const Recording& recording,
                                                          const InputCard& card) {
  const auto number = [](std::uint64_t value) {
    return Rendered([value](Json& json) { json.Uint64(value); });
  };
  const Metadata& metadata = recording.metadata;
  return {
      {"format_display", Rendered([&](Json& json) { Text(json, metadata.format_display); })},
      {"packing", Rendered([&](Json& json) { Text(json, metadata.packing); })},
      {"unpacked_bytes", number(metadata.unpacked_bytes)},
      {"time_nanos", Rendered([&](Json& json) { json.Int64(metadata.time_nanos); })},
      {"sample_types", Rendered([&](Json& json) { Types(json, card); })},
      {"samples", number(recording.profile ? recording.profile->size() : 0)},
      {"stacks", number(recording.stack_count())},
      {"functions", number(recording.functions.size())},
      {"labels", Rendered([&](Json& json) {
         json.StartArray();
         for (const std::string& key : card.label_keys) {
           Text(json, key);
         }
         json.EndArray();
       })},
      {"blind_spots", Rendered([&](Json& json) { BlindSpots(json, recording); })},
      {"settings", Rendered([&](Json& json) { Settings(json, recording); })},
      {"marks", Rendered([&](Json& json) { Marks(json, recording); })},
      {"ledgers", Rendered([&](Json& json) { Ledgers(json, recording); })},
      {"devices", Rendered([&](Json& json) {
         json.StartArray();
         for (const DeviceCard& device : card.devices) {
           Device(json, device);
         }
         json.EndArray();
       })},
  };
}

}  // namespace memtool::commands
