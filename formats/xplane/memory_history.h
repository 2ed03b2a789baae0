// The allocators' events of a trace as a History: a domain and a trace per allocator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memtool/profile/model/recording_builder.h"
#include "xplane/host_events.h"
#include "xplane/join.h"

namespace memtool::formats::xplane {

// Who made each memory event, by its row.
struct Causes {
  std::vector<StackId> stacks;
  std::vector<std::uint32_t> annotations;  // rows of HostEvents::texts, or kNoText
  std::vector<std::uint32_t> jits;         // likewise: the innermost jitted function, "jit(f)"
};

// How many allocated bytes belong to compiled programs of the file.
struct JoinFigures {
  std::int64_t allocated = 0;   // by all allocations of the recording
  std::int64_t of_program = 0;  // those of one certain program
  std::int64_t of_name = 0;     // of one certain name that several programs have
  std::int64_t unsure = 0;      // of one of several programs
};

// `start_ns`: when the profile began (unix), or 0. Throws ReadError for too many allocators.
History MakeHistory(RecordingBuilder& builder, const HostEvents& host, const Causes& causes,
                    const Join& join, std::int64_t start_ns, JoinFigures& figures);

}  // namespace memtool::formats::xplane
