#include "memtool/profile/select/selection.h"

#include <fmt/format.h>

#include <utility>

#include "memtool/profile/model/clamped_sums.h"

namespace memtool {

namespace {

std::shared_ptr<const Filter> Everything() {
  static const std::shared_ptr<const Filter> filter = std::make_shared<const Filter>();
  return filter;
}

// Of what is one moment.
Result<void> RefuseMoment(const MomentSpec& moment) {
  if (moment.kind == MomentSpec::Kind::kEnd) {
    return {};
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("{} {}: there is no history to stand in", moment.option, moment.text));
}

}  // namespace

Result<Selection> Select(std::shared_ptr<const Recording> recording, SelectOptions options,
                         std::shared_ptr<const HistoryIndex> index) {
  Selection made;
  made.options_ = std::move(options);
  SelectOptions& wanted = made.options_;
  made.source_ = made.recording_ = std::move(recording);
  if (!wanted.moment) {
    wanted.moment = DefaultMoment(*made.source_);
  }
  if (made.source_->history) {
    made.index_ = index ? std::move(index) : std::make_shared<const HistoryIndex>(made.source_);
    auto at = wanted.live ? Result<LiveRecording>(*std::exchange(wanted.live, std::nullopt))
                          : AtMoment(*made.index_, *wanted.moment, wanted.device);
    MEMTOOL_TRY(at);
    made.recording_ = std::move(at->recording);
    made.moments_ = std::move(at->moments);
    std::vector<std::size_t> traces;
    for (const MomentOfTrace& moment : made.moments_) {
      traces.push_back(moment.trace);
    }
    wanted.moment = AgreedMoment(*std::move(wanted.moment), *made.index_, traces);
  } else {
    MEMTOOL_TRY(RefuseMoment(*wanted.moment));
  }
  auto choice = wanted.like ? MatchValue(*made.recording_, *wanted.like)
                            : ChooseValue(*made.recording_, wanted.sample_type);
  MEMTOOL_TRY(choice);
  made.choice_ = *std::move(choice);
  if (!wanted.filter) {
    wanted.filter = Everything();
  }
  made.Sum();
  return made;
}

void Selection::Sum() {
  view_ = std::make_unique<const View>(*recording_, *options_.filter);
  sums_ = std::make_unique<const StackSums>(SumByStack(*view_, choice_, options_.scale));
}

Selection Selection::With(std::shared_ptr<const Recording> recording, double scale) const {
  Selection made;
  made.options_ = options_;
  made.options_.scale = scale;
  made.source_ = source_;
  made.index_ = index_;
  made.recording_ = std::move(recording);
  made.moments_ = moments_;
  made.choice_ = choice_;
  made.Sum();
  return made;
}

Selection Selection::ScaledBy(double scale) const {
  return With(recording_, scale);
}

Selection Selection::Of(Recording rest) const {
  return With(std::make_shared<const Recording>(std::move(rest)), options_.scale);
}

Result<std::shared_ptr<const Recording>> RecordingAt(std::shared_ptr<const Recording> recording,
                                                     const MomentSpec& moment,
                                                     std::string_view device) {
  if (!recording->history) {
    MEMTOOL_TRY(RefuseMoment(moment));
    return recording;
  }
  if (HasClampedSums(recording->diagnostics)) {
    return Fail(ErrorCode::kLimit,
                "sums of sizes exceed the 64-bit range, which is the most that "
                "a profile can hold");
  }
  auto at = AtMoment(HistoryIndex(std::move(recording)), moment, device);
  MEMTOOL_TRY(at);
  return std::move(at->recording);
}

Result<Selection> Select(Recording recording, SelectOptions options) {
  return Select(std::make_shared<const Recording>(std::move(recording)), std::move(options));
}

}  // namespace memtool
