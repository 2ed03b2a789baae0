// Histories and allocator states by hand: events are listed, the domains and the builder's checks
// are the same for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::test {

// Appends a device's events; device and name are the trace's number. It gets new domains for
// segments and blocks, and each event goes to one by its action. The trace may be changed until the
// next one is added.
Trace& AddTrace(History& history, std::vector<Event> events);
// The same with domains that the history already has; every event names its own.
Trace& AddTrace(History& history, const std::vector<Event>& events, DomainId blocks,
                DomainId segments);
// A history of device 0 alone.
History BuildHistory(std::vector<Event> events);

// Blocks of device 0 in one segment, at address 0.
AllocatorState InOneSegment(std::vector<Block> blocks, std::int64_t size);

// Stacks of one frame each, f0, f1 … in lines 1, 2 … of `file`; after them one without frames.
std::vector<StackId> AddStacks(RecordingBuilder& builder, std::size_t count, std::string_view file);

// What a reader hands over. `builder` has the stacks and label sets that events and blocks refer
// to. Throws what the builder refuses.
Recording MakeRecording(History history, std::optional<AllocatorState> state = {},
                        RecordingBuilder builder = {});

// All difficult cases: blocks from before the recording (freed in it, or living on), delayed frees,
// addresses used again, OOM events, time stamps and marks. Stacks are those of AddStacks.
// `standing`: more preexisting bytes, of which only the sum is known.
inline constexpr std::uint32_t kRandomStacks = 5;
Recording RandomHistory(std::uint32_t seed, std::int64_t standing = 0);

}  // namespace memtool::test
