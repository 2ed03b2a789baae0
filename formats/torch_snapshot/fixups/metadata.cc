#include "torch_snapshot/fixups/metadata.h"

#include <rapidjson/memorystream.h>

#include <optional>
#include <utility>

#include "support/json.h"

namespace memtool::formats::torch_snapshot {

namespace {

constexpr std::string_view kUserMetadataKey = "user_metadata";
constexpr std::size_t kMaxPairs = 64;
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10U;

using Pairs = std::vector<std::pair<std::string, std::string>>;

// RapidJSON's handler, with its names: accepts one object of plain values, and gives up at anything
// else.
class FlatObject {
 public:
  explicit FlatObject(Pairs& pairs) : pairs_(pairs) {}

  bool StartObject() { return !std::exchange(inside_, true); }
  static bool EndObject(rapidjson::SizeType) { return true; }
  static bool StartArray() { return false; }
  static bool EndArray(rapidjson::SizeType) { return false; }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    pairs_.emplace_back(std::string(text, size), std::string());
    return pairs_.size() <= kMaxPairs;
  }
  bool String(const char* text, rapidjson::SizeType size, bool) { return Put({text, size}); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return Put({text, size}); }
  bool Bool(bool value) { return Put(value ? "true" : "false"); }
  bool Null() { return Put("null"); }
  // Numbers come as text.
  static bool Int(int) { return false; }
  static bool Uint(unsigned) { return false; }
  static bool Int64(std::int64_t) { return false; }
  static bool Uint64(std::uint64_t) { return false; }
  static bool Double(double) { return false; }

 private:
  bool Put(std::string_view value) {
    if (!inside_ || pairs_.empty()) {
      return false;
    }
    pairs_.back().second = value;
    return true;
  }

  Pairs& pairs_;
  bool inside_ = false;
};

template <class Handler>
bool ParseJson(std::string_view text, Handler& handler) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  JsonReader reader;
  constexpr unsigned kHow = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                            rapidjson::kParseValidateEncodingFlag;
  return !reader.Parse<kHow>(stream, handler).IsError();
}

std::optional<Pairs> ParsePairs(std::string_view text) {
  Pairs pairs;
  FlatObject object(pairs);
  const bool taken = text.size() <= kMaxTextBytes && text.starts_with('{') &&
                     ParseJson(text, object) && !pairs.empty();
  return taken ? std::optional(std::move(pairs)) : std::nullopt;
}

// Accepts one plain value other than text, which is then written as it is.
class Plain : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Plain> {
 public:
  static bool Default() { return false; }
  static bool Null() { return true; }
  static bool Bool(bool) { return true; }
  static bool RawNumber(const char*, rapidjson::SizeType, bool) { return true; }
  static bool String(const char*, rapidjson::SizeType, bool) { return false; }
};

}  // namespace

const std::vector<Label>& MetadataLabels::MakeLabels(std::uint32_t text,
                                                     RecordingBuilder& builder) {
  const auto [at, fresh] = known_.try_emplace(text);
  if (!fresh) {
    return at->second;
  }
  if (const auto pairs = ParsePairs(builder.Text(StringId(text)))) {
    for (const auto& [key, value] : *pairs) {
      at->second.push_back({.key = builder.Intern(std::string(kUserMetadataKey) + '.' + key),
                            .text = builder.Intern(value)});
    }
  } else {
    at->second.push_back({.key = builder.Intern(kUserMetadataKey), .text = StringId(text)});
  }
  return at->second;
}

void MetadataLabels::AddTo(std::vector<Label>& set, std::uint32_t text, RecordingBuilder& builder) {
  const std::vector<Label>& labels = MakeLabels(text, builder);
  set.insert(set.end(), labels.begin(), labels.end());
}

std::string MetadataText(const Recording& recording, std::span<const Label> labels) {
  JsonBuffer buffer;
  JsonWriter writer(buffer);
  bool any = false;
  for (const Label& label : labels) {
    std::string_view key = recording.Text(label.key);
    const std::string_view text = recording.Text(label.text);
    if (key == kUserMetadataKey && !label.numeric) {
      return std::string(text);
    }
    if (label.numeric || !key.starts_with(kUserMetadataKey) ||
        key.size() <= kUserMetadataKey.size() || key[kUserMetadataKey.size()] != '.') {
      continue;
    }
    if (!any) {
      writer.StartObject();
      any = true;
    }
    key.remove_prefix(kUserMetadataKey.size() + 1);
    writer.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    Plain plain;
    if (ParseJson(text, plain)) {
      writer.RawValue(text.data(), text.size(), rapidjson::kNumberType);
    } else {
      writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    }
  }
  if (any) {
    writer.EndObject();
  }
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace memtool::formats::torch_snapshot
