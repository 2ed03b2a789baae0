// What is live at a moment of a history, as a profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"

namespace memtool {

struct MomentOfTrace {
  std::size_t trace = 0;  // row of History::traces
  std::int32_t device = -1;
  std::int64_t event = -1;
  std::int64_t live = 0;  // bytes, clamped to their range
  TraceSummary summary;
};

struct LiveRecording {
  std::shared_ptr<const Recording> recording;
  std::vector<MomentOfTrace> moments;  // one per chosen trace
};

// A recording of what is live at the moment: samples {stack, labels} × {allocations, space}, one
// per trace, stack, label set and size, over the stacks, history and state of the index's
// recording. Labels: device, stream, state, segment, pool, backward (the temporaries of a backward
// pass), use (what sizes show of blocks: BaseKinds), and those of the allocation event. What was
// allocated before the recording and has no stack of its own gets the stack kBeforeRecording, what
// events without an address left the stack kWithoutAddress. `device`: empty for all. Errors: kUsage
// when the moment does not exist or the device is unknown.
Result<LiveRecording> AtMoment(const HistoryIndex& index, const MomentSpec& spec,
                               std::string_view device);

}  // namespace memtool
