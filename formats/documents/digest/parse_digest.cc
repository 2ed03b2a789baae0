// Reads digests, which come from other machines and may hold anything.
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <limits>

#include "memtool/formats/digest.h"
#include "memtool/profile/base/json_memory.h"
#include "support/read_error.h"
#include "support/text/lines.h"

namespace memtool::formats {

namespace {

using Pool = rapidjson::MemoryPoolAllocator<JsonMemory>;
using Json = rapidjson::GenericValue<rapidjson::UTF8<>, Pool>;
using JsonDocument = rapidjson::GenericDocument<rapidjson::UTF8<>, Pool, JsonMemory>;

constexpr unsigned kMaxShift = 62;

[[noreturn]] void RefuseKey(std::string_view key, std::string_view what) {
  throw ReadError(Error{.field = std::string(key), .message = std::string(what)});
}

std::string ToText(const Json& json) {
  return {json.GetString(), json.GetStringLength()};
}

void Demand(bool holds, std::string_view key, std::string_view what) {
  if (!holds) {
    RefuseKey(key, what);
  }
}

// One object of a digest; every accessor names its key when it has to refuse it.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {
    Demand(object.IsObject(), "digest", "has something in place of an object");
  }

  [[nodiscard]] bool Has(const char* key) const { return object_.HasMember(key); }
  [[nodiscard]] const Json& At(const char* key) const {
    const auto found = object_.FindMember(key);
    Demand(found != object_.MemberEnd(), key, "is missing");
    return found->value;
  }
  [[nodiscard]] std::string Text(const char* key) const {
    Demand(At(key).IsString(), key, "is not text");
    return ToText(At(key));
  }
  [[nodiscard]] std::int64_t Integer(const char* key) const {
    Demand(At(key).IsInt64(), key, "is not an integer");
    return At(key).GetInt64();
  }
  // Bytes of which there are none or some; `negative`: or less, as in the difference of two
  // profiles.
  [[nodiscard]] std::int64_t Bytes(const char* key, bool negative = false) const {
    const std::int64_t bytes = Integer(key);
    Demand(negative || bytes >= 0, key, "is below 0");
    return bytes;
  }
  [[nodiscard]] std::optional<std::int64_t> PerhapsBytes(const char* key) const {
    return At(key).IsNull() ? std::nullopt : std::optional(Bytes(key));
  }
  // The number of an event; -1 where it is none.
  [[nodiscard]] std::int64_t Event(const char* key) const {
    Demand(Integer(key) >= -1, key, "is no number of an event");
    return Integer(key);
  }
  [[nodiscard]] std::optional<std::int64_t> Perhaps(const char* key) const {
    return At(key).IsNull() ? std::nullopt : std::optional(Integer(key));
  }
  [[nodiscard]] std::int64_t Time(const char* key) const { return Perhaps(key).value_or(kNoTime); }
  [[nodiscard]] std::uint64_t Count(const char* key) const {
    Demand(At(key).IsUint64(), key, "is not a count");
    return At(key).GetUint64();
  }
  [[nodiscard]] bool Bool(const char* key) const {
    Demand(At(key).IsBool(), key, "is neither true nor false");
    return At(key).GetBool();
  }
  [[nodiscard]] std::int32_t Device(const char* key) const {
    const std::int64_t device = Integer(key);
    Demand(device >= -1 && device <= std::numeric_limits<std::int32_t>::max(), key,
           "is no number of a device");
    return static_cast<std::int32_t>(device);
  }
  [[nodiscard]] const Json& List(const char* key, std::size_t most) const {
    Demand(At(key).IsArray(), key, "is not a list");
    Demand(At(key).Size() <= most, key, fmt::format("has more than {} elements", most));
    return At(key);
  }
  [[nodiscard]] std::vector<std::int64_t> BytesList(const char* key, std::size_t most) const {
    std::vector<std::int64_t> values;
    for (const Json& json : List(key, most).GetArray()) {
      Demand(json.IsInt64(), key, "holds something that is not an integer");
      Demand(json.GetInt64() >= 0, key, "holds something below 0");
      values.push_back(json.GetInt64());
    }
    return values;
  }
  [[nodiscard]] const Json& Object(const char* key) const {
    Demand(At(key).IsObject(), key, "is not an object");
    return At(key);
  }

 private:
  const Json& object_;
};

DigestDevice GetDevice(const Members& in) {
  return {.name = in.Text("name"),
          .device = in.Device("device"),
          .capacity = in.PerhapsBytes("capacity"),
          .events = in.Count("events"),
          .overflowed = in.Bool("overflowed"),
          .begin = in.Time("begin_ns"),
          .last = in.Time("last_ns"),
          .base = in.Bytes("base"),
          .peak = in.Bytes("peak"),
          .peak_event = in.Event("peak_event"),
          .peak_time = in.Time("peak_ns"),
          .end = in.Bytes("end"),
          .reserved_peak = in.Bytes("reserved_peak"),
          .reserved_end = in.Bytes("reserved_end")};
}

DigestOom ReadOom(const Members& in) {
  return {.device = in.Device("device"),
          .event = in.Event("event"),
          .time = in.Time("ns"),
          .requested_bytes = in.Bytes("asked"),
          .free = in.PerhapsBytes("free"),
          .live = in.Bytes("live"),
          .reserved = in.Bytes("reserved")};
}

DigestGrid MakeGrid(const Members& in) {
  Demand(in.Count("shift") <= kMaxShift, "shift", "is too large");
  DigestGrid grid{.first = in.Integer("first"),
                  .shift = static_cast<unsigned>(in.Count("shift")),
                  .live = in.BytesList("live", kMaxDigestBins),
                  .reserved = in.BytesList("reserved", kMaxDigestBins)};
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> grid.shift;
  constexpr auto kBins = static_cast<std::int64_t>(kMaxDigestBins);
  Demand(grid.first >= -most && grid.first <= most && most - grid.first >= kBins, "first",
         "lies beyond all times");
  Demand(grid.live.size() == grid.reserved.size() && !grid.live.empty(), "reserved",
         "has another length than 'live'");
  return grid;
}

void ReadRows(const Members& in, bool difference, Digest& digest) {
  for (const Json& json : in.List("rows", kMaxDigestRows).GetArray()) {
    const Members row(json);
    digest.rows.push_back({.name = row.Text("name"),
                           .file = row.Text("file"),
                           .peak = row.Bytes("peak", difference),
                           .end = row.Bytes("end", difference)});
  }
  const Members cut(in.At("cut"));
  digest.cut_rows = cut.Count("rows");
  digest.cut_peak = cut.Bytes("peak", difference);
  digest.cut_end = cut.Bytes("end", difference);
  digest.cut_largest = cut.Bytes("largest", difference);
}

void ReadMaps(const Members& in, Digest& digest) {
  for (const auto& setting : in.Object("settings").GetObject()) {
    Demand(setting.value.IsString(), "settings", "hold something that is not text");
    digest.settings.emplace_back(ToText(setting.name), ToText(setting.value));
  }
  for (const auto& diagnostic : in.Object("diagnostics").GetObject()) {
    Demand(diagnostic.value.IsUint64(), "diagnostics", "hold something that is not a count");
    digest.diagnostics.emplace_back(ToText(diagnostic.name), diagnostic.value.GetUint64());
  }
}

void ReadDevices(const Members& in, Digest& digest) {
  for (const Json& json : in.List("devices", kMaxDigestDevices).GetArray()) {
    digest.devices.push_back(GetDevice(Members(json)));
  }
  if (const auto fullest = in.Perhaps("fullest")) {
    Demand(*fullest >= 0 && static_cast<std::uint64_t>(*fullest) < digest.devices.size(), "fullest",
           "is no row of 'devices'");
    digest.fullest = static_cast<std::size_t>(*fullest);
  }
}

void ReadAll(const Members& in, Digest& digest) {
  digest.format = in.Text("format");
  digest.display = in.Text("display");
  digest.host = in.Text("host");
  digest.process = in.Perhaps("process");
  digest.rank = in.Text("rank");
  digest.since_epoch = in.Bool("unix");
  ReadDevices(in, digest);
  const bool difference = !digest.fullest;  // it may be one: there is no history
  digest.peak = in.Bytes("peak", difference);
  digest.end = in.Bytes("end", difference);
  ReadRows(in, difference, digest);
  for (const Json& json : in.List("ooms", kMaxDigestOoms).GetArray()) {
    digest.ooms.push_back(ReadOom(Members(json)));
  }
  if (!in.At("grid").IsNull()) {
    digest.grid = MakeGrid(Members(in.At("grid")));
  }
  ReadMaps(in, digest);
}

}  // namespace

Result<Digest> ParseDigest(std::string_view line) {
  JsonDocument document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
      line.data(), line.size());
  if (document.HasParseError()) {
    return Fail(ErrorCode::kMalformed,
                fmt::format("not JSON: {}", rapidjson::GetParseError_En(document.GetParseError())));
  }
  try {
    const Members in(document);
    if (const std::string schema = in.Text("schema"); schema != kDigestSchema) {
      return Fail(
          ErrorCode::kUnsupported,
          fmt::format("its schema is '{}', and this version reads {}", schema, kDigestSchema));
    }
    Digest digest{.path = in.Text("path"), .hash = in.Text("hash"), .bytes = in.Count("bytes")};
    if (in.Has("problem")) {
      digest.problem = in.Text("problem");
    } else {
      ReadAll(in, digest);
    }
    return digest;
  } catch (const ReadError& error) {
    return Fail(ErrorCode::kMalformed,
                fmt::format("'{}' {}", error.error().field, error.error().message));
  }
}

bool IsDigests(std::string_view head) {
  return head.starts_with(R"({"schema":"memtool.digest/)");
}

std::vector<Digest> ReadDigests(ByteWindow& in, const Limits& limits) {
  std::vector<Digest> digests;
  Lines lines(in, limits);
  std::string_view line;
  while (lines.Next(line)) {
    if (line.empty()) {
      continue;
    }
    if (lines.unended()) {
      ThrowRead(ErrorCode::kTruncated, lines.offset(), fmt::format("line {}", lines.number()),
                "has no end: whatever wrote it was stopped", "index the input again");
    }
    auto digest = ParseDigest(line);
    if (!digest) {
      ThrowRead(digest.error().code, lines.offset(), fmt::format("line {}", lines.number()),
                digest.error().message);
    }
    digests.push_back(*std::move(digest));
  }
  return digests;
}

}  // namespace memtool::formats
