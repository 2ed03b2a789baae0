#include "options/size_option.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "words/words.h"

namespace memtool::commands {

Result<std::int64_t> ParseDeviceSize(std::string_view option, std::string_view text,
                                     SizeBase base) {
  constexpr std::int64_t kMin = std::int64_t{1} << 20U;
  auto bytes = ParseSize(text, base);
  if (!bytes) {
    Error error = std::move(bytes.error());
    error.message = std::string(option) + ": " + error.message;
    return Fail(std::move(error));
  }
  const bool unit = text.empty() || text.back() < '0' || text.back() > '9';
  if (unit || *bytes >= kMin || *bytes == 0) {
    return bytes;
  }
  return Fail(ErrorCode::kUsage, fmt::format("{} {}: {}?", option, text, Counted(*bytes, "byte")),
              fmt::format("did you mean {}GB? {}B is bytes", text, text));
}

}  // namespace memtool::commands
