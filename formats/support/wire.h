// Protobuf wire fields over a ByteCursor. Unknown fields are skipped, known ones are checked for
// their wire type.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>

#include "support/byte_cursor.h"
#include "support/read_error.h"

namespace memtool::formats::wire {

enum Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

struct Field {
  std::uint64_t number = 0;
  std::uint64_t type = 0;
  std::uint64_t value = 0;           // of varints
  std::span<const std::byte> bytes;  // of length-delimited fields
  std::uint64_t offset = 0;          // of the field's first byte, or of `bytes` for kLength

  void Expect(Type expected, const char* name) const {
    if (type != expected) {
      ThrowRead(ErrorCode::kMalformed, offset, name,
                fmt::format("wire type {} where {} belongs", type, static_cast<int>(expected)));
    }
  }
  [[nodiscard]] std::uint64_t Varint(const char* name) const {
    Expect(kVarint, name);
    return value;
  }
  [[nodiscard]] std::int64_t Int(const char* name) const {
    return static_cast<std::int64_t>(Varint(name));
  }
  [[nodiscard]] bool Bool(const char* name) const { return Varint(name) != 0; }
  [[nodiscard]] ByteCursor Message(const char* name) const {
    Expect(kLength, name);
    return {bytes, offset};
  }
};

// No field has the number 0.
inline void CheckNumber(std::uint64_t tag, std::uint64_t offset) {
  if (tag >> 3U == 0) {
    ThrowRead(ErrorCode::kMalformed, offset, {}, "field number 0");
  }
}

// Reads the payload of a field whose tag has been read.
inline Field Payload(ByteCursor& cursor, std::uint64_t tag, std::uint64_t offset) {
  Field field{.number = tag >> 3U, .type = tag & 7U, .value = 0, .bytes = {}, .offset = offset};
  CheckNumber(tag, offset);
  switch (field.type) {
    case kVarint:
      field.value = cursor.Varint();
      break;
    case kFixed64:
      field.value = cursor.Fixed64();
      break;
    case kLength: {
      const std::uint64_t size = cursor.Varint();
      field.offset = cursor.offset();
      field.bytes = cursor.Take(size);
      break;
    }
    case kFixed32:
      field.value = cursor.Fixed32();
      break;
    default:
      ThrowRead(ErrorCode::kMalformed, offset, {},
                fmt::format("wire type {} does not exist in this format", field.type));
  }
  return field;
}

inline Field Next(ByteCursor& cursor) {
  const std::uint64_t offset = cursor.offset();
  const std::uint64_t tag = cursor.Varint();
  return Payload(cursor, tag, offset);
}

}  // namespace memtool::formats::wire
