// The allocators' events of a trace as a History: a ledger and a trace per allocator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/model/recording_builder.h"
#include "xplane/host_events.h"

namespace memtool::formats::xplane {

// Who made each memory event, by its row.
struct Causes {
  std::vector<StackId> stacks;
  std::vector<std::uint32_t> annotations;  // rows of HostEvents::texts, or kNoText
};

// `start_ns`: when the profile began (unix), or 0. Throws ReadError for too many allocators.
History MakeHistory(RecordingBuilder& builder, const HostEvents& host, const Causes& causes,
                    std::int64_t start_ns);

}  // namespace memtool::formats::xplane
