// HloProto in the JSON form of protobuf: names in camelCase or with underscores, 64-bit numbers as
// strings or as numbers, enums by name or number.
#pragma once

#include <string>
#include <string_view>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"

namespace memtool::formats::hlo {

// Whether a file that begins like this is one: an object whose first member is a module's or its
// buffers.
bool IsHloJson(std::string_view head);

// The message's bytes, of the fields that ReadHloProto looks at. Throws ReadError, with the place
// in the text.
std::string BytesOfHloJson(ByteWindow& in, const Limits& limits);

}  // namespace memtool::formats::hlo
