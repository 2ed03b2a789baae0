#include "common/strict_text.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace memtool::fuzz {

namespace {

// RapidJSON's handler: refuses keys that an object has already. The names are RapidJSON's.
class Keys : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Keys> {
 public:
  bool StartObject() {
    objects_.emplace_back();
    return true;
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    return objects_.back().emplace(text, size).second;
  }
  bool EndObject(rapidjson::SizeType) {
    objects_.pop_back();
    return true;
  }

 private:
  std::vector<std::set<std::string>> objects_;
};

// The place after the field that begins at `at`; none when it is malformed.
std::optional<std::size_t> FieldEnd(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '"') {
    const std::size_t end = text.find_first_of(",\r\n\"", at);
    const bool ends = end != std::string_view::npos && text[end] != '"' && text[end] != '\n';
    return ends ? std::optional(end) : std::nullopt;
  }
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') {
      continue;
    }
    if (at + 1 >= text.size() || text[at + 1] != '"') {
      return at + 1;
    }
    ++at;
  }
  return std::nullopt;
}

}  // namespace

bool IsJson(std::string_view text) {
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  rapidjson::MemoryStream bytes(text.data(), text.size());
  rapidjson::Reader reader;
  Keys keys;
  return !reader.Parse<kFlags>(bytes, keys).IsError();
}

bool IsJsonLines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || !IsJson(text.substr(0, end))) {
      return false;
    }
    text.remove_prefix(end + 1);
  }
  return true;
}

bool IsCsv(std::string_view text) {
  std::optional<std::size_t> wanted;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t fields = 0;
    bool more = true;
    while (more) {
      const auto end = FieldEnd(text, at);
      if (!end || *end >= text.size()) {
        return false;
      }
      ++fields;
      more = text[*end] == ',';
      at = *end + (more ? 1 : 0);
    }
    if (text.substr(at, 2) != "\r\n" || fields != wanted.value_or(fields)) {
      return false;
    }
    wanted = fields;
    at += 2;
  }
  return true;
}

}  // namespace memtool::fuzz
