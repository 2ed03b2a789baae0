// What the tables of a snapshot under construction share: the Recording's builder, the kinds of
// values, checked access to them, and a log of oddities.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/formats/limits.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/data_value.h"
#include "torch_snapshot/wire/words.h"

namespace memtool::formats::torch_snapshot {

// What a dict or list turned out to be, by its keys or its items.
namespace kind {
inline constexpr ValueKind kFrame{8};   // payload: LocationId
inline constexpr ValueKind kPair{9};    // two numbers below 2^32 (a tuple, or a list in JSON)
inline constexpr ValueKind kEvent{10};  // the others: rows of their tables
inline constexpr ValueKind kSegment{11};
inline constexpr ValueKind kBlock{12};
inline constexpr ValueKind kAnnotation{13};
inline constexpr ValueKind kHistoryEntry{14};
inline constexpr ValueKind kStack{34};   // payload: StackId
inline constexpr ValueKind kEvents{35};  // payload: first row, count
inline constexpr ValueKind kSegments{36};
inline constexpr ValueKind kBlocks{37};
inline constexpr ValueKind kAnnotations{38};
inline constexpr ValueKind kHistory{39};
inline constexpr ValueKind kTraces{40};       // payload: index of a list of event lists
inline constexpr ValueKind kSnapshot{41};     // the dict of everything
inline constexpr ValueKind kOpaqueValue{42};  // payload: index into OpaqueStore
}  // namespace kind

inline Word GetWord(const Value& value) {
  return value.kind == ValueKind::kString && value.payload < kWords.size()
             ? static_cast<Word>(value.payload)
             : Word::kNoWord;
}

// For messages: "a number", "a list of frames".
const char* KindName(ValueKind kind);

// Oddities; equal messages are counted.
class NoteLog {
 public:
  void Add(Severity severity, std::string code, std::string message, std::uint64_t offset);
  // A key without meaning here; `where` is the kind of dict, `name` the key's text.
  void AddUnknownKey(const char* where, std::uint32_t key, std::string_view name,
                     std::uint64_t offset);
  void MoveTo(RecordingBuilder& builder);

 private:
  std::vector<Diagnostic> notes_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_;
  KeyMap<std::uint32_t, std::size_t> keys_;  // string id -> note
};

// The handles of streams, by the order in which they occur.
class StreamTable {
 public:
  std::uint16_t Index(std::uint64_t handle, std::uint64_t offset);
  [[nodiscard]] std::vector<std::uint64_t> Take() { return std::move(handles_); }

 private:
  std::vector<std::uint64_t> handles_{0};
  KeyMap<std::uint64_t, std::uint16_t> index_{{0, 0}};
  std::uint64_t last_handle_ = 0;
  std::uint16_t last_ = 0;
};

struct Context {
  Context(const Limits& limits_in, std::string form_in);

  RecordingBuilder builder;
  Limits limits;
  std::string form;  // "pickle protocol 4"
  KeySet seen;       // every key that occurred in a place where it has a meaning
  bool fx = false;   // frames with fx_ keys occurred
  NoteLog notes;
  StreamTable streams;

  void UnknownKey(const char* where, const Value& key, std::uint64_t offset) {
    const bool text = key.kind == ValueKind::kString;
    notes.AddUnknownKey(where, text ? key.Low() : 0,
                        text ? builder.Text(StringId(key.Low())) : "not text", offset);
  }
};

// One value of a dict, with its place for error messages.
class Field {
 public:
  Field(const Value& value, Word key, std::uint64_t offset)
      : value_(value), key_(key), offset_(offset) {}

  [[nodiscard]] std::int64_t Size() const {  // 0 or more
    if (value_.kind == ValueKind::kInt && value_.Int() >= 0) {
      return value_.Int();
    }
    return OddSize();
  }
  // A 64-bit address or handle. Some writers write those with the top bit set as negative numbers.
  [[nodiscard]] std::uint64_t Address() const {
    if (value_.kind == ValueKind::kInt || value_.kind == ValueKind::kBigUint) {
      return value_.payload;
    }
    Wrong("a number");
  }
  [[nodiscard]] std::int64_t Int() const {
    if (value_.kind == ValueKind::kInt) {
      return value_.Int();
    }
    return WholeFloat();
  }
  [[nodiscard]] std::int64_t Nanos() const {
    const std::int64_t micros = Int();
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() / 1000;
    if (micros > kMax || micros < -kMax) {
      Wrong("a time that fits 64 bits in nanoseconds");
    }
    return micros * 1000;
  }
  [[nodiscard]] bool Bool() const;
  [[nodiscard]] StringId String() const {
    if (value_.kind != ValueKind::kString) {
      Wrong("text");
    }
    return StringId(value_.Low());
  }
  [[nodiscard]] StackId Stack() const {  // none for an empty list
    if (value_.kind == kind::kStack) {
      return StackId(value_.Low());
    }
    if (value_.kind != ValueKind::kEmptyList && value_.kind != ValueKind::kNone) {
      Wrong("a list of frames");
    }
    return {};
  }
  [[noreturn]] void Wrong(const char* expected) const;

 private:
  [[nodiscard]] std::int64_t OddSize() const;
  [[nodiscard]] std::int64_t WholeFloat() const;

  const Value& value_;
  Word key_;
  std::uint64_t offset_;
};

}  // namespace memtool::formats::torch_snapshot
