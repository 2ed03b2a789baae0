// A pickle as JSON text, so that the reader of one form can be compared with that of the other.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace memtool::fuzz {

// None where JSON has no words for it (bytes, keys that are not text, numbers that are not finite
// or that JSON's reader would round), where it is no pickle, and where what is shared, written out,
// would be long.
std::optional<std::string> PickleAsJson(std::span<const std::byte> pickle);

}  // namespace memtool::fuzz
