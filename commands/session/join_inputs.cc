#include "session/join_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memtool/formats/open.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::commands {

namespace {

std::optional<Diagnostic> Joined(std::string message) {
  return Diagnostic{.severity = Severity::kNote, .code = "joined", .message = std::move(message)};
}

}  // namespace

bool JoinInputs::Waits(const Recording& recording) {
  const RecordingKind kind = recording.metadata.origin.kind;
  return kind == RecordingKind::kTagLog || kind == RecordingKind::kDriverLog;
}

JoinInputs::JoinInputs(const std::vector<std::string>& names)
    : has_driver_log_(std::any_of(names.begin(), names.end(), [](const std::string& name) {
        const formats::Reader* reader = name == "-" ? nullptr : formats::CertainReader(name);
        return reader != nullptr && reader->kind() == RecordingKind::kDriverLog;
      })) {}

Result<void> JoinInputs::Add(const std::string& name, const Recording& recording,
                             const HistoryIndex* index, const ViewOptions& view) {
  if (recording.metadata.origin.kind == RecordingKind::kTagStacks) {
    stacks_.Add(recording);
  }
  return has_driver_log_ && index != nullptr
             ? segments_.Add(name, *index, view.moment(), view.device())
             : Result<void>{};
}

Result<std::optional<Diagnostic>> JoinInputs::LeaveOut(const std::string& name,
                                                       std::shared_ptr<const Recording>& recording,
                                                       std::shared_ptr<const HistoryIndex>& index,
                                                       MomentSpec& moment) {
  if (recording->metadata.origin.kind == RecordingKind::kTagLog) {
    auto rest = stacks_.LeaveOut(*recording);
    MEMTOOL_TRY(rest);
    recording = std::make_shared<const Recording>(std::move(rest->recording));
    return rest->bytes == 0 ? std::nullopt
                            : Joined(fmt::format(
                                  "{} of {} has call stacks in another input and is counted there",
                                  FormatSize(rest->bytes), name));
  }
  if (segments_.empty()) {
    return std::nullopt;
  }
  auto join = segments_.Join(*index);
  MEMTOOL_TRY(join);
  if (!*join) {
    return Joined(
        fmt::format("no segment of a snapshot lies in {}: they are of different processes", name));
  }
  driver_ = **std::move(join);
  recording = std::make_shared<const Recording>(std::move(driver_->rest));
  index = nullptr;
  moment = driver_->moment;
  std::string message = fmt::format("{} of {} are segments of {} and are counted there",
                                    FormatSize(driver_->found), name, driver_->snapshot);
  if (driver_->missing > 0) {
    message += fmt::format("; of its {} segments {} ({}) are not in the log", driver_->segments,
                           driver_->missing_segments, FormatSize(driver_->missing));
  }
  return Joined(std::move(message));
}

}  // namespace memtool::commands
