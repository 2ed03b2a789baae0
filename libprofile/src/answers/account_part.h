// What one input says about one device, or about all: the figures of an account, and the rows that
// its buckets divide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/account/account.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/selection.h"

namespace memtool::account {

struct Part {
  AccountFacts facts{};
  std::optional<Selection> rows;  // none where the bytes are the driver's figure
};
// For `device`, or for all devices (null). Errors: those of RecordingBuilder::Finish.
Result<Part> MakePart(const Selection& selection, const std::string* device);

// The devices that hold any bytes, in natural order. Empty when some bytes belong to no device.
std::vector<std::string> GetDevices(const Selection& selection);

// Which samples count, and with which of their values.
struct Slice {
  const std::string* device = nullptr;  // null = all
  bool host = true;
  std::size_t column = 0;
  bool rounding = true;
};
// The selection with the samples of a slice only. Errors: those of RecordingBuilder::Finish.
Result<Selection> Cut(const Selection& selection, const Slice& slice);

// What the filters keep, a device for example.
std::int64_t TotalRetained(const Selection& selection);
// Whether samples with these labels are memory of the host.
bool IsHost(const Recording& recording, LabelSetId labels);
// A log of driver calls, or of allocations with tags.
bool IsLog(RecordingKind kind);

}  // namespace memtool::account
