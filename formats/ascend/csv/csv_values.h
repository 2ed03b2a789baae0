// What is written in fields of the CSV files of Ascend's tools: numbers are decimal, amounts have
// their unit in the column's title.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memtool::formats::ascend {

// "1695115378653323.5", microseconds, in nanoseconds. None for anything else.
std::optional<std::int64_t> ParseMicroseconds(std::string_view text);
// "1.69512E+15": a spreadsheet has opened the file, and only six digits of a time are left.
bool IsRoundedBySpreadsheet(std::string_view text);

struct Amount {
  std::int64_t bytes = 0;
  bool rounded = false;  // no whole number of bytes: its writer has rounded it
};
// An amount in units of `unit` bytes. None for what is no number or exceeds 2^53 bytes.
std::optional<Amount> ParseAmount(std::string_view text, std::int64_t unit);

// The ordinal in "NPU:0" or "0"; none for "CPU".
std::optional<std::int32_t> ParseDevice(std::string_view text);

}  // namespace memtool::formats::ascend
