#include "oom/oom_log.h"

#include <fmt/format.h>

#include "memtool/profile/base/sizes.h"
#include "oom/oom_case.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kOthersNamed = 3;

}  // namespace

Result<std::int64_t> ChooseMessage(const formats::OomLog& log, std::optional<std::int64_t> wanted,
                                   const std::string& device) {
  const auto found = static_cast<std::int64_t>(log.found);
  if (wanted) {
    return *wanted < 0 ? found + 1 + *wanted : *wanted;
  }
  const auto figures = [](const formats::OomMessage& message) {
    return (message.asked ? 1 : 0) + (message.free || message.capacity ? 1 : 0);
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < log.messages.size(); ++i) {
    const formats::OomMessage& message = log.messages[i];
    const bool of_device =
        device.empty() || (message.gpu && std::to_string(*message.gpu) == device);
    if (of_device && (!best || figures(message) >= figures(log.messages[*best]))) {
      best = i;
    }
  }
  if (!best) {
    return Fail(ErrorCode::kUsage,
                fmt::format("--device {}: no message of this log is of that device", device),
                OtherMessages(log, 0));
  }
  return found - static_cast<std::int64_t>(log.messages.size() - *best) + 1;
}

std::string OtherMessages(const formats::OomLog& log, std::int64_t number) {
  const auto first = static_cast<std::int64_t>(log.found - log.messages.size()) + 1;
  std::string text = "also in this log, by --message K:";
  std::size_t named = 0;
  for (std::size_t i = 0; i < log.messages.size() && named < kOthersNamed; ++i) {
    const std::int64_t each = first + static_cast<std::int64_t>(i);
    if (each == number) {
      continue;
    }
    const OomCase other = CaseOf(log.messages[i]);
    text += fmt::format("{} {} (line {}{}{})", named > 0 ? " ·" : "", FormatCount(each),
                        FormatCount(static_cast<std::int64_t>(log.messages[i].line)),
                        other.where.empty() ? "" : ", " + other.where,
                        other.facts.asked ? ", asked " + FormatSize(other.facts.asked->bytes) : "");
    ++named;
  }
  return text + (log.found - 1 > named ? " · …" : "");
}

}  // namespace memtool::commands
