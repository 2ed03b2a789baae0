#include "memtool/profile/base/result.h"

#include <fmt/format.h>

namespace memtool {

const char* ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kUnknownFormat:
      return "unknown_format";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kTruncated:
      return "truncated";
    case ErrorCode::kMalformed:
      return "malformed";
    case ErrorCode::kLimit:
      return "limit";
    case ErrorCode::kUnsafeOpcode:
      return "unsafe_opcode";
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kOutput:
      return "output";
  }
  return "unknown";
}

std::string ToString(const Error& error) {
  std::string text;
  if (!error.input.empty()) {
    text += error.input + ": ";
  }
  if (error.offset) {
    text += fmt::format("byte {}: ", *error.offset);
  }
  if (!error.field.empty()) {
    text += error.field + ": ";
  }
  text += error.message;
  if (!error.hint.empty()) {
    text += " (" + error.hint + ")";
  }
  return text;
}

}  // namespace memtool
