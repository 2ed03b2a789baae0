// Any text as a log: every message that is found becomes a ladder that sums, a verdict, advice and
// sentences.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "memtool/formats/oom_text.h"
#include "memtool/formats/open.h"
#include "memtool/profile/answers/oom.h"
#include "memtool/profile/base/arithmetic.h"
#include "oom/oom_words.h"
#include "targets.h"

namespace {

void Check(const memtool::OomAnswer& answer) {
  using namespace memtool;
  std::int64_t sum = 0;
  std::int64_t precision = 0;  // a part that rounding put below 0 is 0
  bool known = true;           // no part contradicts others
  for (const OomRow& row : answer.rows) {
    known = known && !row.contradicts;
    precision = SaturatingAdd(precision, row.kind == OomRow::Kind::kPart ? row.precision : 0);
    sum = SaturatingAdd(sum, row.kind == OomRow::Kind::kPart ? row.bytes : 0);
    (void)commands::RowText(answer, row);
  }
  const std::int64_t over = SaturatingSubtract(sum, answer.whole());
  if ((known && (over < 0 || over > precision)) || commands::Headline(answer).empty() ||
      commands::Reasons(*answer.found).empty() || answer.advice.empty() ||
      VerdictName(*answer.found).empty()) {
    std::abort();
  }
  for (const OomAdvice& advice : answer.advice) {
    const auto sentences = commands::Sentences(advice, *answer.found, "log");
    if (ToName(advice.kind).empty() || sentences.empty() || sentences.front().text.empty()) {
      std::abort();
    }
  }
}

}  // namespace

int memtool::fuzz::FuzzOom(const std::uint8_t* data, std::size_t size) {
  using namespace memtool;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the bytes are the text.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const formats::OomLog log = formats::FindOoms(text);
  if (log.messages.size() > log.found || log.bytes != size) {
    std::abort();
  }
  for (const char* reader : {"oom-text", "bfc-dump"}) {
    const auto recording = formats::OpenRecording(
        formats::MakeMemorySource(std::as_bytes(std::span(text))), "log", {.format = reader});
    if (!recording && recording.error().code == ErrorCode::kMalformed) {
      std::abort();
    }
  }
  const OomMessages messages{.kept = log.messages, .found = static_cast<std::int64_t>(log.found)};
  for (std::int64_t number = 1; number <= messages.last(); ++number) {
    Check(Oom(messages, number, "log"));
  }
  return 0;
}
