// The characters of a JSON file as RapidJSON wants them, out of a sliding window, with one trick:
// an array that was seen before can be skipped, and the parser sees a null in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "support/byte_cursor.h"
#include "support/json.h"
#include "support/read_error.h"

namespace memtool::formats {

class JsonStream {
 public:
  using Ch = char;  // NOLINT(readability-identifier-naming): RapidJSON's name

  JsonStream(ByteWindow& in, const Limits& limits) : in_(in), limits_(limits) {}

  // The names below are RapidJSON's.
  char Peek() {
    if (at_ == text_.size()) {
      Refill();
    }
    return at_ == text_.size() ? '\0' : text_[at_];
  }
  char Take() {
    const char c = Peek();
    at_ += c == '\0' && at_ == text_.size() ? 0 : 1;
    return c;
  }
  [[nodiscard]] std::size_t Tell() const { return static_cast<std::size_t>(Offset()); }
  static void Put(char) {}
  static char* PutBegin() { return nullptr; }
  static std::size_t PutEnd(char*) { return 0; }

  [[nodiscard]] std::uint64_t Offset() const {
    return injected_ ? in_.offset() : in_.offset() + at_;
  }
  // A token ended here: the next one may be as long as a string may be.
  void TokenEnded() { token_ = Offset(); }
  // Where a key was just read: the text of the array that is its value, from bracket to bracket;
  // empty when it is no array, too long to be worth looking at, or inside one looked at before (so
  // that no byte is looked at more than a few times).
  std::string_view ArrayAhead();
  // Of that array what is in memory, as long as its end is not known; empty likewise. Its first
  // `size` bytes, when these are all of it, may be skipped as well.
  std::string_view ArrayBegins();
  // Skips that array; the parser will see null.
  void SkipArray();
  void SkipArray(std::size_t size);
  // Leaves the window at the position reached.
  void Release();

 private:
  void Refill();
  friend void CheckJson(JsonStream& stream, const rapidjson::ParseResult& result);

  ByteWindow& in_;
  Limits limits_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t array_end_ = 0;
  std::uint64_t looked_ = 0;  // how far ArrayAhead() has looked
  bool injected_ = false;
  std::uint64_t token_ = 0;
};

// Turns what RapidJSON says about the end of a text into an error. Throws ReadError.
void CheckJson(JsonStream& stream, const rapidjson::ParseResult& result);

// Reads one JSON value with a handler of RapidJSON's events; no recursion, NaN and Infinity
// allowed. What comes after the value stays unread. Throws ReadError, with the place where it
// happened.
template <class Handler>
void ParseJson(JsonStream& stream, Handler& handler) {
  JsonReader reader;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseStopWhenDoneFlag |
                              rapidjson::kParseNanAndInfFlag;
  try {
    CheckJson(stream, reader.Parse<kFlags>(stream, handler));
  } catch (const ReadError& error) {
    Error placed = error.error();
    placed.offset = placed.offset ? placed.offset : stream.Offset();
    throw ReadError(std::move(placed));
  }
  stream.Release();
}

}  // namespace memtool::formats
