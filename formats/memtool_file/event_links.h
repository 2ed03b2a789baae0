// How events refer to earlier ones: a free need not repeat the address, the size and the stack of
// its allocation. Shared by both directions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memtool/profile/model/history.h"

namespace memtool::formats::memtool_file {

inline constexpr std::size_t kActions = static_cast<std::size_t>(Action::kOther) + 1;

// Columns of the table of events.
enum EventColumn : std::uint32_t {
  kKind = 1,        // bits 0-3 the action; bits 4-7 that of the event referred to plus 1, or 0
  kBack,            // of those that refer: how many events of that action came since
  kKey,             // of the others
  kSize,            // of those that begin something (Opens)
  kSizeDifference,  // of the others: to that of the event referred to
  kTime,            //
  kStack,           // of those that begin something
  kOtherStack,      // of the others: 0 = that of the event referred to; 1 = none; or row + 2
  kStream,          // less that of the event referred to, or of the last one of the same action
  kDomain,          // the same
  kLabels,          // of those that begin something
  kOtherLabels,     // of the others: 0 = those of the event referred to; or row + 1
};

// Whether an event says for itself how large it is and where it comes from.
inline bool Opens(Action action, bool refers) {
  return !refers || action == Action::kAlloc || action == Action::kSegmentAlloc ||
         action == Action::kSegmentMap;
}

// The rows of each action so far.
class ActionRows {
 public:
  void Add(Action action, std::uint32_t row) {
    rows_[static_cast<std::size_t>(action)].push_back(row);
  }
  [[nodiscard]] const std::vector<std::uint32_t>& Of(std::size_t action) const {
    return rows_[action];
  }

 private:
  std::array<std::vector<std::uint32_t>, kActions> rows_;
};

}  // namespace memtool::formats::memtool_file
