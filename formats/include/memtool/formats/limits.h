// Resource limits for reading one input. Every default is stated here and in memtool-formats(5);
// each can be changed with --max NAME=VALUE.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"

namespace memtool::formats {

struct Limits {
  std::uint64_t memory = 0;  // what the process may allocate; 0 = the program's default. The
                             // program sees to it: readers only fail where memory does.
  std::uint64_t unpacked_bytes = 64ULL << 30U;  // bytes after unpacking
  std::uint64_t ratio = 500;                    // unpacked/packed, looked at past ratio_free_bytes
  std::uint64_t ratio_free_bytes = 1ULL << 30U;
  std::uint64_t record_bytes = 64ULL << 20U;  // one record (a sample, a location, a table row)
  std::uint64_t string_bytes = 16ULL << 20U;  // one string
  std::uint64_t depth = 1024;                 // nesting
  std::uint64_t samples = 1ULL << 31U;        // rows of one profile
  std::uint64_t output_bytes = 4ULL << 30U;   // what a command writes to one output: an input may
                                              // give one long name to all of its rows
};

struct LimitInfo {
  std::string_view name;  // "unpacked-bytes"
  std::uint64_t Limits::*value;
  bool bytes;
  std::string_view about;  // what is limited
};

// Every limit, for help and manual.
std::span<const LimitInfo> LimitList();

// Sets one limit by its name. Errors: kUsage for an unknown name.
Result<void> SetLimit(Limits& limits, std::string_view name, std::uint64_t value);

}  // namespace memtool::formats
