// A digest as a line of JSON. The order of the keys is part of the format: equal digests are equal
// bytes.
#include "memtool/formats/digest.h"
#include "memtool/profile/base/escape.h"
#include "support/json.h"

namespace memtool::formats {

namespace {

class LineBuilder {
 public:
  LineBuilder() { json_.StartObject(); }

  void Put(std::string_view key, std::string_view text) {
    Text(key);
    Text(text);
  }
  void Put(std::string_view key, std::int64_t value) {
    Text(key);
    json_.Int64(value);
  }
  void PutCount(std::string_view key, std::uint64_t value) {
    Text(key);
    json_.Uint64(value);
  }
  void Put(std::string_view key, const std::optional<std::int64_t>& value) {
    Text(key);
    value ? json_.Int64(*value) : json_.Null();
  }
  void PutTime(std::string_view key, std::int64_t nanos) {
    Put(key, nanos == kNoTime ? std::nullopt : std::optional(nanos));
  }
  void PutBool(std::string_view key, bool value) {
    Text(key);
    json_.Bool(value);
  }
  void PutNull(std::string_view key) {
    Text(key);
    json_.Null();
  }
  void Put(std::string_view key, const std::vector<std::int64_t>& values) {
    Text(key);
    json_.StartArray();
    for (const std::int64_t value : values) {
      json_.Int64(value);
    }
    json_.EndArray();
  }
  template <class Items, class PutItem>
  void PutList(std::string_view key, const Items& items, PutItem put) {
    Text(key);
    json_.StartArray();
    for (const auto& item : items) {
      json_.StartObject();
      put(item);
      json_.EndObject();
    }
    json_.EndArray();
  }
  template <class PutMembers>
  void PutObject(std::string_view key, PutMembers put) {
    Text(key);
    json_.StartObject();
    put();
    json_.EndObject();
  }

  std::string Ended() {
    json_.EndObject();
    return EscapeJson({buffer_.GetString(), buffer_.GetSize()}) + "\n";
  }

 private:
  void Text(std::string_view text) {
    json_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }

  JsonBuffer buffer_;
  JsonWriter json_{buffer_};
};

void PutDevices(LineBuilder& line, const std::vector<DigestDevice>& devices) {
  line.PutList("devices", devices, [&line](const DigestDevice& device) {
    line.Put("name", device.name);
    line.Put("device", std::int64_t{device.device});
    line.Put("capacity", device.capacity);
    line.PutCount("events", device.events);
    line.PutBool("overflowed", device.overflowed);
    line.PutTime("begin_ns", device.begin);
    line.PutTime("last_ns", device.last);
    line.Put("base", device.base);
    line.Put("peak", device.peak);
    line.Put("peak_event", device.peak_event);
    line.PutTime("peak_ns", device.peak_time);
    line.Put("end", device.end);
    line.Put("reserved_peak", device.reserved_peak);
    line.Put("reserved_end", device.reserved_end);
  });
}

void PutRows(LineBuilder& line, const Digest& digest) {
  line.PutList("rows", digest.rows, [&line](const DigestRow& row) {
    line.Put("name", row.name);
    line.Put("file", row.file);
    line.Put("peak", row.peak);
    line.Put("end", row.end);
  });
  line.PutObject("cut", [&] {
    line.PutCount("rows", digest.cut_rows);
    line.Put("peak", digest.cut_peak);
    line.Put("end", digest.cut_end);
    line.Put("largest", digest.cut_largest);
  });
}

void PutOoms(LineBuilder& line, const std::vector<DigestOom>& ooms) {
  line.PutList("ooms", ooms, [&line](const DigestOom& oom) {
    line.Put("device", std::int64_t{oom.device});
    line.Put("event", oom.event);
    line.PutTime("ns", oom.time);
    line.Put("asked", oom.requested_bytes);
    line.Put("free", oom.free);
    line.Put("live", oom.live);
    line.Put("reserved", oom.reserved);
  });
}

void PutGrid(LineBuilder& line, const DigestGrid& grid) {
  if (grid.live.empty()) {
    line.PutNull("grid");
    return;
  }
  line.PutObject("grid", [&] {
    line.PutCount("shift", grid.shift);
    line.Put("first", grid.first);
    line.Put("live", grid.live);
    line.Put("reserved", grid.reserved);
  });
}

void PutMaps(LineBuilder& line, const Digest& digest) {
  line.PutObject("settings", [&] {
    for (const auto& [name, value] : digest.settings) {
      line.Put(name, value);
    }
  });
  line.PutObject("diagnostics", [&] {
    for (const auto& [code, count] : digest.diagnostics) {
      line.PutCount(code, count);
    }
  });
}

}  // namespace

std::string DigestLine(const Digest& digest) {
  LineBuilder line;
  line.Put("schema", kDigestSchema);
  line.Put("path", digest.path);
  line.Put("hash", digest.hash);
  line.PutCount("bytes", digest.bytes);
  if (!digest.problem.empty()) {
    line.Put("problem", digest.problem);
    return line.Ended();
  }
  line.Put("format", digest.format);
  line.Put("display", digest.display);
  line.Put("host", digest.host);
  line.Put("process", digest.process);
  line.Put("rank", digest.rank);
  line.PutBool("unix", digest.since_epoch);
  PutDevices(line, digest.devices);
  line.Put("fullest", digest.fullest ? std::optional(static_cast<std::int64_t>(*digest.fullest))
                                     : std::nullopt);
  line.Put("peak", digest.peak);
  line.Put("end", digest.end);
  PutRows(line, digest);
  PutOoms(line, digest.ooms);
  PutGrid(line, digest.grid);
  PutMaps(line, digest);
  return line.Ended();
}

}  // namespace memtool::formats
