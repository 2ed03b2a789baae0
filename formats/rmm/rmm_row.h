// Rows that RMM's logging adaptor writes: Thread,Time,Action,Pointer,Size,Stream.
// Source: cpp/include/rmm/mr/logging_resource_adaptor.hpp; older releases separate microseconds by
// a colon.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memtool::formats::rmm {

inline constexpr std::string_view kHeader = "Thread,Time,Action,Pointer,Size,Stream";

enum class RmmAction : std::uint8_t { kAllocate, kFailure, kFree };

struct RmmRow {
  std::uint64_t thread = 0;
  std::int64_t time = 0;  // ns since midnight
  RmmAction action = RmmAction::kAllocate;
  std::uint64_t pointer = 0;
  std::int64_t size = 0;
  std::uint64_t stream = 0;
};

// None for what is no whole row.
std::optional<RmmRow> ParseRow(std::string_view line);
// Whether a line begins as rows do: with a thread, a time of day and an action.
bool BeginsAsRow(std::string_view line);

}  // namespace memtool::formats::rmm
