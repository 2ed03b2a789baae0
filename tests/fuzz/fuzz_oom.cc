// Any text as a log: every message that is found becomes a ladder that sums, a verdict and
// sentences.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "memtool/formats/oom_text.h"
#include "memtool/profile/base/arithmetic.h"
#include "oom/oom_case.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memtool;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the bytes are the text.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const formats::OomLog log = formats::FindOoms(text);
  if (log.messages.size() > log.found || log.bytes != size) {
    std::abort();
  }
  for (const formats::OomMessage& message : log.messages) {
    const commands::OomCase found = commands::CaseOf(message);
    if (found.ladder) {
      std::int64_t sum = 0;
      for (const OomPart& part : found.ladder->parts) {
        sum = SaturatingAdd(sum, part.bytes);
        (void)commands::PartText(found, part);
      }
      if (sum != found.ladder->whole.bytes) {
        std::abort();
      }
    }
    if (commands::Headline(found).empty() || commands::Reasons(found).empty() ||
        commands::Advice(found, "log").empty() || commands::VerdictName(found).empty()) {
      std::abort();
    }
  }
  return 0;
}
