// What is written in rows of msMemScope (before 2026 msLeaks), as a CSV file or a database has
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memtool::formats::ascend {

struct MemscopeRow {
  std::string_view id;
  std::string_view event;
  std::string_view type;
  std::string_view name;
  std::string_view time;
  std::string_view process;
  std::string_view thread;
  std::string_view device;
  std::string_view pointer;
  std::string_view attributes;
  std::string_view python_stack;
  std::string_view c_stack;
};

// The value of `key` in "{addr:0x12c0,size:512,owner:PTA@weight}", or in JSON with numbers as
// texts, as databases have it. Empty where there is none.
std::string_view FindAttribute(std::string_view attributes, std::string_view key);
// "0x12c0" or "4800".
std::optional<std::uint64_t> ParsePointer(std::string_view text);
// Nanoseconds since 1970. Files of 2025-04 have microseconds in the column of that name.
std::optional<std::int64_t> ParseMemscopeTime(std::string_view text);

}  // namespace memtool::formats::ascend
