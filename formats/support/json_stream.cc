#include "support/json_stream.h"

#include <fmt/format.h>
#include <rapidjson/error/en.h>

#include <string>

#include "support/read_error.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kRefillBytes = std::size_t{64} << 10U;
constexpr std::size_t kMaxAhead = std::size_t{1} << 20U;
constexpr std::string_view kNull = ":null";

// The index after the string that begins at `quote`, or npos.
std::size_t SkipString(std::string_view text, std::size_t quote) {
  std::size_t at = quote + 1;
  while (true) {
    at = text.find('"', at);
    if (at == std::string_view::npos) {
      return at;
    }
    std::size_t slashes = 0;
    while (text[at - 1 - slashes] == '\\') {
      ++slashes;
    }
    ++at;
    if (slashes % 2 == 0) {
      return at;
    }
  }
}

// The index after the array that begins at `open`, or npos when the text ends inside it.
std::size_t SkipBrackets(std::string_view text, std::size_t open) {
  std::size_t depth = 0;
  std::size_t at = open;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = SkipString(text, at);
      if (at == std::string_view::npos) {
        return at;
      }
      continue;
    }
    ++at;
    depth += c == '[' ? 1 : 0;
    depth -= c == ']' ? 1 : 0;
    if (depth == 0) {
      return at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

void JsonStream::Refill() {
  if (injected_) {
    injected_ = false;
    text_ = AsText(in_.buffered());
    at_ = 0;
    if (!text_.empty()) {
      return;
    }
  }
  in_.Advance(at_);
  text_ = AsText(in_.Fill(kRefillBytes));
  at_ = 0;
  if (in_.offset() - token_ > limits_.string_bytes) {
    ThrowRead(ErrorCode::kLimit, token_, {},
              fmt::format("text of more than {} bytes", limits_.string_bytes),
              "lift it with --max string-bytes=SIZE");
  }
}

std::string_view JsonStream::ArrayAhead() {
  if (Offset() < looked_) {
    return {};
  }
  for (std::size_t size = kRefillBytes; size <= kMaxAhead; size *= 4) {
    const std::size_t open = text_.find_first_not_of(" \t\r\n:", at_);
    if (open != std::string_view::npos) {
      if (text_[open] != '[') {
        return {};
      }
      array_end_ = SkipBrackets(text_, open);
      if (array_end_ != std::string_view::npos) {
        looked_ = in_.offset() + array_end_;
        return text_.substr(open, array_end_ - open);
      }
    }
    in_.Advance(at_);
    text_ = AsText(in_.Fill(size));
    at_ = 0;
  }
  looked_ = in_.offset() + text_.size();
  return {};
}

std::string_view JsonStream::ArrayBegins() {
  if (Offset() < looked_ || injected_) {
    return {};
  }
  const std::size_t open = text_.find_first_not_of(" \t\r\n:", at_);
  if (open == std::string_view::npos || text_[open] != '[') {
    return {};
  }
  array_end_ = open;
  return text_.substr(open);
}

void JsonStream::SkipArray(std::size_t size) {
  array_end_ += size;
  looked_ = in_.offset() + array_end_;
  SkipArray();
}

void JsonStream::SkipArray() {
  in_.Advance(array_end_);
  text_ = kNull;
  at_ = 0;
  injected_ = true;
}

void JsonStream::Release() {
  if (!injected_) {
    in_.Advance(at_);
    text_ = {};
    at_ = 0;
  }
}

void CheckJson(JsonStream& stream, const rapidjson::ParseResult& result) {
  if (!result.IsError()) {
    return;
  }
  const bool ended = stream.Peek() == '\0' && stream.in_.AtEnd();
  ThrowRead(ended ? ErrorCode::kTruncated : ErrorCode::kMalformed, result.Offset(), {},
            ended ? std::string("the JSON text ends early: the file was cut")
                  : fmt::format("not valid JSON: {}", rapidjson::GetParseError_En(result.Code())));
}

}  // namespace memtool::formats
