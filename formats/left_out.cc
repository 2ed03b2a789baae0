// Stands in for components that this build was made without.
#include "memtool/formats/left_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ground_truth/forms.h"
#include "memtool/formats/keywords.h"
#include "oom_text/scan.h"
#include "oom_text/text_readers.h"
#include "support/read_error.h"

namespace memtool::formats {

namespace {

// "mxnet mxnet-stacks" as two words.
std::vector<std::string_view> WordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

std::span<const std::string_view> ReadersLeftOut() {
  static const std::vector<std::string_view> names = WordsOf(MEMTOOL_READERS_LEFT_OUT);
  return names;
}

std::span<const std::string_view> WritersLeftOut() {
  static const std::vector<std::string_view> names = WordsOf(MEMTOOL_WRITERS_LEFT_OUT);
  return names;
}

Error NotInThisBuild(std::string_view what) {
  return {.code = ErrorCode::kUnsupported,
          .input = {},
          .message = fmt::format("{} not in this build", what)};
}

#ifndef MEMTOOL_HAVE_KEYWORDS
Result<KeywordsFile> ReadKeywords(const std::string& /*name*/) {
  return Fail(NotInThisBuild("keyword files are"));
}

Result<KeywordsFile> ParseKeywords(std::string_view /*text*/, const std::string& /*name*/) {
  return Fail(NotInThisBuild("keyword files are"));
}
#endif

#ifndef MEMTOOL_HAVE_GROUND_TRUTH
Result<GroundTruth> ground_truth::ReadTruth(ByteWindow& /*in*/) {
  return Fail(NotInThisBuild("files of ground truth are"));
}
#endif

#ifndef MEMTOOL_HAVE_OOM_TEXT
OomLog oom_text::ScanLog(ByteWindow& /*in*/) {
  throw ReadError(NotInThisBuild("text logs are"));
}

bool oom_text::IsLog(std::string_view /*head*/) {
  return false;
}

std::optional<Result<Recording>> oom_text::ReadTables(ByteWindow& /*in*/) {
  return std::nullopt;
}

OomLog FindOoms(std::string_view /*text*/) {
  return {};
}

std::string DisplayOf(const OomMessage& message) {
  return message.kind;
}
#endif

}  // namespace memtool::formats
