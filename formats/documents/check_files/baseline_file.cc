// A baseline is a digest with line breaks, and buckets.
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <utility>

#include "documents/keywords/yaml_tree.h"
#include "memtool/formats/baseline.h"
#include "memtool/formats/digest.h"
#include "memtool/profile/base/escape.h"
#include "memtool/profile/base/json_memory.h"

namespace memtool::formats {

namespace {

using Pool = rapidjson::MemoryPoolAllocator<JsonMemory>;
using Json = rapidjson::GenericValue<rapidjson::UTF8<>, Pool>;
using JsonDocument = rapidjson::GenericDocument<rapidjson::UTF8<>, Pool, JsonMemory>;
using Buffer = rapidjson::GenericStringBuffer<rapidjson::UTF8<>, JsonMemory>;
using BaselineWriter = rapidjson::Writer<Buffer, rapidjson::UTF8<>, rapidjson::UTF8<>, JsonMemory>;

constexpr TreeWords kBaselineWords{.noun = "baseline", .example = {}, .nesting = {}};
constexpr std::size_t kMaxBuckets = 10'000;

std::string Inline(const Json& json) {
  Buffer buffer;
  BaselineWriter writer(buffer);
  json.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string QuotedText(std::string_view text) {
  Json json;
  json.SetString(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return Inline(json);
}

bool IsList(const Json& json) {
  return json.IsArray() && !json.Empty() && json[0].IsObject();
}

// Members and rows on lines of their own, whatever is in them on one.
void PutLines(const Json& object, std::string& text) {
  bool first = true;
  for (const auto& member : object.GetObject()) {
    text +=
        fmt::format("{}\n    {}: ", std::exchange(first, false) ? "" : ",", Inline(member.name));
    if (!IsList(member.value)) {
      text += Inline(member.value);
      continue;
    }
    text += "[";
    for (const Json& row : member.value.GetArray()) {
      text += fmt::format("{}\n      {}", &row == member.value.Begin() ? "" : ",", Inline(row));
    }
    text += "\n    ]";
  }
}

Error Wrong(ErrorCode code, const std::string& name, std::string message) {
  return {.code = code,
          .input = name,
          .offset = 0,  // of the whole file
          .message = std::move(message),
          .hint = "memtool check --write-baseline writes one"};
}

Result<void> ReadBuckets(const Json& root, const std::string& name, CheckFacts& facts) {
  const auto dictionary = root.FindMember("dictionary");
  const auto buckets = root.FindMember("buckets");
  if (dictionary == root.MemberEnd() || buckets == root.MemberEnd()) {
    return {};
  }
  if (!dictionary->value.IsString() || !buckets->value.IsObject() ||
      buckets->value.MemberCount() > kMaxBuckets) {
    return Fail(Wrong(ErrorCode::kMalformed, name, "'buckets' are no names with bytes"));
  }
  facts.dictionary = {dictionary->value.GetString(), dictionary->value.GetStringLength()};
  for (const auto& bucket : buckets->value.GetObject()) {
    if (!bucket.value.IsInt64()) {
      return Fail(Wrong(ErrorCode::kMalformed, name, "'buckets' are no names with bytes"));
    }
    facts.buckets.push_back(
        {{bucket.name.GetString(), bucket.name.GetStringLength()}, bucket.value.GetInt64()});
  }
  return {};
}

}  // namespace

std::string FormatBaseline(const CheckFacts& facts) {
  const std::string line = DigestLine(facts.digest);
  JsonDocument digest;
  digest.Parse(line.data(), line.size());
  std::string text = fmt::format("{{\n  \"schema\": \"{}\",\n  \"digest\": {{", kBaselineSchema);
  PutLines(digest, text);
  text += "\n  }";
  if (!facts.dictionary.empty()) {
    text += fmt::format(",\n  \"dictionary\": {},\n  \"buckets\": {{",
                        QuotedText(ToUtf8(facts.dictionary)));
    for (std::size_t i = 0; i < facts.buckets.size(); ++i) {
      text += fmt::format("{}\n    {}: {}", i == 0 ? "" : ",",
                          QuotedText(ToUtf8(facts.buckets[i].name)), facts.buckets[i].bytes);
    }
    text += "\n  }";
  }
  return text + "\n}\n";
}

Result<CheckFacts> ParseBaseline(std::string_view text, const std::string& name) {
  if (text.empty()) {
    return Fail(Wrong(ErrorCode::kTruncated, name, "the baseline is empty"));
  }
  JsonDocument document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
      text.data(), text.size());
  if (document.HasParseError()) {
    Error error = Wrong(
        ErrorCode::kMalformed, name,
        fmt::format("no baseline: {}", rapidjson::GetParseError_En(document.GetParseError())));
    error.offset = document.GetErrorOffset();
    return Fail(std::move(error));
  }
  const Json& root = document;
  const auto schema = root.IsObject() ? root.FindMember("schema") : Json::ConstMemberIterator();
  if (!root.IsObject() || schema == root.MemberEnd() || !schema->value.IsString()) {
    return Fail(Wrong(ErrorCode::kMalformed, name, "no baseline: 'schema' is missing"));
  }
  if (std::string_view(schema->value.GetString(), schema->value.GetStringLength()) !=
      kBaselineSchema) {
    return Fail(Wrong(ErrorCode::kUnsupported, name,
                      fmt::format("its schema is '{}', and this version reads {}",
                                  schema->value.GetString(), kBaselineSchema)));
  }
  const auto digest = root.FindMember("digest");
  if (digest == root.MemberEnd()) {
    return Fail(Wrong(ErrorCode::kMalformed, name, "'digest' is missing"));
  }
  auto parsed = ParseDigest(Inline(digest->value));
  if (!parsed) {
    return Fail(Wrong(parsed.error().code, name, parsed.error().message));
  }
  CheckFacts facts{.digest = *std::move(parsed)};
  MEMTOOL_TRY(ReadBuckets(document, name, facts));
  return facts;
}

Result<CheckFacts> ReadBaseline(const std::string& path) {
  auto text = ReadTreeText(path, kBaselineWords);
  if (!text) {
    text.error().input = path;
    return Fail(std::move(text.error()));
  }
  return ParseBaseline(*text, path);
}

}  // namespace memtool::formats
