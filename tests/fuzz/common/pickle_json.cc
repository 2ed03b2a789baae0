#include "common/pickle_json.h"

#include <fmt/format.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "common/reading.h"
#include "memtool/formats/byte_window.h"
#include "support/data_value.h"
#include "support/pickle/pickle_machine.h"
#include "support/read_error.h"

namespace memtool::fuzz {

namespace {

using formats::Value;
using formats::ValueKind;

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20U;
constexpr ValueKind kText{8};  // payloads: rows of the texts
constexpr ValueKind kList{34};
constexpr ValueKind kDict{35};

// RapidJSON's handler of one number. The names are RapidJSON's.
struct OneDouble : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, OneDouble> {
  bool Default() { return false; }
  bool Double(double read) {
    value = read;
    return true;
  }
  double value = 0;
};

// None where the snapshot's reader of JSON, which is not exact in the last digits, reads another.
std::optional<std::string> NumberText(double number) {
  if (!std::isfinite(number)) {
    return std::nullopt;
  }
  std::string text = fmt::format("{:#}", number);
  rapidjson::MemoryStream bytes(text.data(), text.size());
  rapidjson::Reader reader;
  OneDouble read;
  const bool same = !reader.Parse<rapidjson::kParseIterativeFlag>(bytes, read).IsError() &&
                    read.value == number && std::signbit(read.value) == std::signbit(number);
  return same ? std::optional(std::move(text)) : std::nullopt;
}

// Every value becomes its JSON; of containers, what stands between the brackets.
class JsonBuilder final : public formats::DataBuilder {
 public:
  Value String(std::string_view text, std::uint64_t /*offset*/) override {
    std::string out = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || c == '"' || c == '\\') {
        out += fmt::format("\\u{:04x}", byte);
      } else {
        out += c;
      }
    }
    return Keep(kText, out + "\"");
  }
  Value Dict(const Value& dict, std::span<const Value> pairs, std::uint64_t /*offset*/) override {
    std::string out = Inside(dict);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      possible_ = possible_ && pairs[i].kind == kText;
      out += (out.empty() ? "" : ",") + Json(pairs[i]) + ":" + Json(pairs[i + 1]);
      Bound(out);
    }
    return Keep(kDict, std::move(out));
  }
  Value List(const Value& list, std::span<const Value> items, std::uint64_t /*offset*/) override {
    std::string out = Inside(list);
    for (const Value& item : items) {
      out += (out.empty() ? "" : ",") + Json(item);
      Bound(out);
    }
    return Keep(kList, std::move(out));
  }
  Value Tuple(std::span<const Value> items, std::uint64_t offset) override {
    return List(Value::Of(ValueKind::kEmptyList, 0), items, offset);
  }
  [[nodiscard]] std::string_view Text(const Value& /*value*/) const override { return "?"; }

  std::string Json(const Value& value) {
    if (value.kind == kText) {
      return Inside(value);
    }
    if (value.kind == kList || value.kind == kDict) {
      return (value.kind == kList ? "[" : "{") + Inside(value) + (value.kind == kList ? "]" : "}");
    }
    switch (value.kind) {
      case ValueKind::kNone:
        return "null";
      case ValueKind::kBool:
        return value.payload != 0 ? "true" : "false";
      case ValueKind::kInt:
        return std::to_string(value.Int());
      case ValueKind::kBigUint:
        return std::to_string(value.payload);
      case ValueKind::kFloat: {
        auto text = NumberText(value.Float());
        possible_ = possible_ && text.has_value();
        return text.value_or("0");
      }
      case ValueKind::kEmptyList:
        return "[]";
      case ValueKind::kEmptyDict:
        return "{}";
      default:
        possible_ = false;
        return "null";
    }
  }
  [[nodiscard]] bool possible() const { return possible_; }

 private:
  [[nodiscard]] std::string Inside(const Value& value) const {
    const bool held = value.kind == kText || value.kind == kList || value.kind == kDict;
    return held ? texts_[static_cast<std::size_t>(value.payload)] : std::string();
  }
  Value Keep(ValueKind kind, std::string text) {
    Bound(text);
    kept_ += text.size();
    texts_.push_back(std::move(text));
    return Value::Of(kind, texts_.size() - 1);
  }
  // What is shared is written out each time.
  void Bound(const std::string& text) const {
    if (text.size() > kMaxTextBytes || kept_ > 16 * kMaxTextBytes) {
      formats::ThrowRead(ErrorCode::kLimit, 0, {}, "too much text");
    }
  }

  std::vector<std::string> texts_;
  std::size_t kept_ = 0;
  bool possible_ = true;
};

}  // namespace

std::optional<std::string> PickleAsJson(std::span<const std::byte> pickle) {
  formats::ByteWindow window(formats::MakeMemorySource(pickle));
  JsonBuilder builder;
  try {
    const Value root = formats::PickleMachine(window, builder, SmallLimits()).Run();
    std::string text = builder.Json(root);
    return builder.possible() ? std::optional(std::move(text)) : std::nullopt;
  } catch (const formats::ReadError&) {
    return std::nullopt;
  }
}

}  // namespace memtool::fuzz
