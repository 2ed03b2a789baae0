// Errors as values. Every fallible call of a memtool library returns Result<T>; nothing in a
// library prints or exits. Libraries that throw are caught at one named seam each (see
// ARCHITECTURE.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace memtool {

enum class ErrorCode : std::uint8_t {
  kIo,             // the operating system refused to give or take bytes
  kUnknownFormat,  // no reader recognises the input
  kUnsupported,    // recognised, but not (yet) read by this program
  kTruncated,      // ends inside a record
  kMalformed,      // breaks its own format's rules
  kLimit,          // larger than a stated limit
  kUnsafeOpcode,   // asks for code to be run
  kUsage,          // the caller's options make no sense
  kOutput,         // the result could not be written
};

// The stable name of a code, as JSON shows it.
const char* ErrorCodeName(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kMalformed;
  std::string input;                      // path as the user gave it; empty when not about an input
  std::optional<std::uint64_t> offset{};  // byte offset after unpacking
  std::string field{};                    // the format's own name of the place: "location[3].line"
  std::string message{};                  // what is wrong, lower case, no full stop
  std::string hint{};                     // what to do about it; may be empty
};

// One line: "INPUT: byte N: FIELD: MESSAGE (HINT)". Options are called what the command line
// calls them. Bytes from the input are not escaped here; the terminal's sink does that.
std::string ToString(const Error& error);

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(
      Error{.code = code, .input = {}, .message = std::move(message), .hint = std::move(hint)});
}

}  // namespace memtool

// Returns from the enclosing function with the error of `result`, if it holds one. `result` is the
// name of a Result, or an expression whose value is not needed.
#define MEMTOOL_TRY(result)                                \
  do {                                                     \
    if (auto&& memtool_tried = (result); !memtool_tried) { \
      return ::memtool::Fail(memtool_tried.error());       \
    }                                                      \
  } while (false)
