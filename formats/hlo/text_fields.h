// What stands within the lines of XLA's text dumps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hlo/shape.h"

namespace memtool::formats::hlo {

// A number without sign at the beginning, which is cut off.
std::optional<std::int64_t> TakeNumber(std::string_view& text);
// Steps over what stands before `mark` and over it; false where it is not there.
bool SkipPast(std::string_view& text, std::string_view mark);

struct Rounded {
  std::int64_t bytes = 0;
  std::int64_t precision = 0;  // half of the last digit, and what XLA dropped before it rounded
};
// "16", "16B", "205.03MiB", at the beginning, which is cut off.
std::optional<Rounded> TakeSize(std::string_view& text);

// "f32[2,3]{1,0:T(8,128)}": facts of "f32[2,3]". Of others, tuples among them, only the text.
ShapeFacts MakeFacts(std::string_view text);
// NAME="TEXT" of a metadata={…}, where quotes in the text have a backslash.
std::string Quoted(std::string_view text, std::string_view name);

}  // namespace memtool::formats::hlo
