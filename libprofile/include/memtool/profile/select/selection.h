// Selection: one recording at a moment, through a filter, with the sums of one sample type. It is
// the front door for whoever embeds the library: answers (answers/) take selections.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {

struct SelectOptions {
  std::string name;                      // of the input, for answers: a path
  std::optional<MomentSpec> moment{};    // none = DefaultMoment
  std::string device;                    // of a history, see AtMoment; empty = all
  std::shared_ptr<const Filter> filter;  // null = all samples, frame mode app
  std::string sample_type;               // wanted, see ChooseValue; empty = the default
  std::optional<ValueChoice> like;       // instead of sample_type: the choice made on another input
  double scale = 1.0;                    // multiplies every value (normalising)
  // AtMoment of a history, this moment and this device, where it is known already.
  std::optional<LiveRecording> live{};
};

// Cheap to move; holds all that it refers to. Recordings may be shared between selections, so that
// another moment of the same input costs no second reading.
class Selection {
 public:
  // What was read, and what is looked at: the same recording, or, at a moment of a history, another
  // one with the same rows and a profile of what is live.
  [[nodiscard]] const Recording& source() const { return *source_; }
  [[nodiscard]] const Recording& recording() const { return *recording_; }
  [[nodiscard]] const View& view() const { return *view_; }
  [[nodiscard]] const ValueChoice& choice() const { return choice_; }
  [[nodiscard]] const StackSums& sums() const { return *sums_; }
  [[nodiscard]] double scale() const { return options_.scale; }
  [[nodiscard]] const std::string& name() const { return options_.name; }
  // What it is of the chosen traces, see AgreedMoment.
  [[nodiscard]] const MomentSpec& moment() const { return *options_.moment; }
  [[nodiscard]] const std::string& device() const { return options_.device; }

  // Of inputs with a history; null without.
  [[nodiscard]] const HistoryIndex* history() const { return index_.get(); }
  [[nodiscard]] const std::shared_ptr<const HistoryIndex>& shared_history() const { return index_; }
  // The same with another scale, in place of its own.
  [[nodiscard]] Selection ScaledBy(double scale) const;
  // The same moment, filter and sample type of what is left of the recording, with the same rows.
  [[nodiscard]] Selection Of(Recording rest) const;
  // One per chosen trace; empty without a history.
  [[nodiscard]] const std::vector<MomentOfTrace>& moments() const { return moments_; }

 private:
  friend Result<Selection> Select(std::shared_ptr<const Recording>, SelectOptions,
                                  std::shared_ptr<const HistoryIndex>);
  Selection() = default;
  void Sum();
  [[nodiscard]] Selection With(std::shared_ptr<const Recording> recording, double scale) const;

  SelectOptions options_;
  std::shared_ptr<const Recording> source_;
  std::shared_ptr<const HistoryIndex> index_;
  std::shared_ptr<const Recording> recording_;
  std::vector<MomentOfTrace> moments_;
  std::unique_ptr<const View> view_;
  ValueChoice choice_;
  std::unique_ptr<const StackSums> sums_;
};

// `index`: of this recording's history, where it is known already. Errors: kUsage for a moment or
// device that the history does not have, or a sample type that the recording does not have;
// kUnsupported when it holds neither samples nor a history.
Result<Selection> Select(std::shared_ptr<const Recording> recording, SelectOptions options,
                         std::shared_ptr<const HistoryIndex> index = nullptr);
Result<Selection> Select(Recording recording, SelectOptions options = {});

// The recording itself when it has no history, else what is live at the moment: without filter and
// sums, for callers that write it elsewhere. Errors: kUsage, like those of Select.
Result<std::shared_ptr<const Recording>> RecordingAt(std::shared_ptr<const Recording> recording,
                                                     const MomentSpec& moment,
                                                     std::string_view device);

}  // namespace memtool
