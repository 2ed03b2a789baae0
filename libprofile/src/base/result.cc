#include "memtool/profile/base/result.h"

#include <fmt/format.h>

#include <array>

namespace memtool {

namespace {

constexpr std::array<std::string_view, 29> kSubjects{"",
                                                     "moment",
                                                     "base moment",
                                                     "range begin",
                                                     "range end",
                                                     "device",
                                                     "grouping",
                                                     "time axis",
                                                     "step mark",
                                                     "steps",
                                                     "multi error",
                                                     "multi first",
                                                     "keywords",
                                                     "focus",
                                                     "ignore",
                                                     "hide",
                                                     "show",
                                                     "show-from",
                                                     "prune-from",
                                                     "tagfocus",
                                                     "tagignore",
                                                     "tagshow",
                                                     "taghide",
                                                     "input format",
                                                     "the overview",
                                                     "a comparison",
                                                     "a timeline",
                                                     "a question about out-of-memory",
                                                     "the memory limit"};
static_assert(kSubjects.size() == static_cast<std::size_t>(Subject::kMemoryLimit) + 1);

// A mention within a text: the subject's number as a character after kMark. Neither occurs in what
// a library says otherwise; an input that contains both gets a subject's name shown, and nothing
// worse.
constexpr char kMark = '\x0e';
constexpr char kFirst = '@';

std::string Named(std::string_view text, std::string_view (*name)(Subject)) {
  std::string named;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto number = text[i] == kMark && i + 1 < text.size()
                            ? static_cast<std::size_t>(static_cast<unsigned char>(text[i + 1])) -
                                  static_cast<std::size_t>(kFirst)
                            : kSubjects.size();
    if (number < kSubjects.size()) {
      named += name(static_cast<Subject>(number));
      ++i;
    } else {
      named += text[i];
    }
  }
  return named;
}

}  // namespace

std::string_view SubjectName(Subject subject) {
  return kSubjects[static_cast<std::size_t>(subject)];
}

std::string Mention(Subject subject) {
  return {kMark, static_cast<char>(kFirst + static_cast<char>(subject))};
}

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

std::string ToString(const Error& error, std::string_view (*name)(Subject)) {
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
  text += Named(error.message, name);
  if (!error.hint.empty()) {
    text += " (" + Named(error.hint, name) + ")";
  }
  return text;
}

}  // namespace memtool
