#include "session/join_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memtool/formats/load.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::commands {

namespace {

constexpr std::string_view kTagLog = "mxnet";
constexpr std::string_view kTagStacks = "mxnet-stacks";
constexpr std::string_view kDriverLog = "capture_log";

std::optional<Diagnostic> Joined(std::string message) {
  return Diagnostic{.severity = Severity::kNote, .code = "joined", .message = std::move(message)};
}

}  // namespace

bool JoinInputs::Waits(const Recording& recording) {
  return recording.metadata.format == kTagLog || recording.metadata.format == kDriverLog;
}

JoinInputs::JoinInputs(const std::vector<std::string>& names)
    : has_driver_log_(std::any_of(names.begin(), names.end(), [](const std::string& name) {
        return name != "-" && formats::CertainFormat(name) == kDriverLog;
      })) {}

Result<void> JoinInputs::Remember(const std::string& name, const Recording& recording,
                                  const ViewOptions& view) {
  if (recording.metadata.format == kTagStacks) {
    stacks_.Remember(recording);
  }
  return has_driver_log_ ? segments_.Remember(name, recording, view.moment(), view.device())
                         : Result<void>{};
}

std::optional<Diagnostic> JoinInputs::TakeFrom(const std::string& name, Recording& recording,
                                               MomentSpec& moment) {
  if (recording.metadata.format == kTagLog) {
    const std::int64_t bytes = stacks_.TakeFrom(recording);
    return bytes == 0 ? std::nullopt
                      : Joined(fmt::format("{} of {} have call stacks in another input and are "
                                           "counted there",
                                           FormatSize(bytes), name));
  }
  if (segments_.empty()) {
    return std::nullopt;
  }
  auto join = segments_.TakeFrom(recording);
  if (!join) {
    return Joined(
        fmt::format("no segment of a snapshot lies in {}: they are of different processes", name));
  }
  moment = join->moment;
  driver_ = *std::move(join);
  std::string message = fmt::format("{} of {} are segments of {} and are counted there",
                                    FormatSize(driver_->found), name, driver_->snapshot);
  if (driver_->missing > 0) {
    message += fmt::format("; of its {} segments {} ({}) are not in the log", driver_->segments,
                           driver_->missing_segments, FormatSize(driver_->missing));
  }
  return Joined(std::move(message));
}

}  // namespace memtool::commands
