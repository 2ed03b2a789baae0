// History and allocator state: what inputs with events hold besides, or instead of, a profile.
// Sizes are bytes, times nanoseconds, addresses raw. Built by RecordingBuilder, immutable
// afterwards.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/base/ids.h"
#include "memtool/profile/base/row_vector.h"

namespace memtool {

using DomainId = Id<struct DomainTag>;  // the memory domain that an event changes
using TraceId = Id<struct TraceTag>;    // one ordered list of events

// kCpu: what a framework's CPU allocator hands out; on no device, and left out of sums over all
// devices unless there is nothing else.
enum class DomainKind : std::uint8_t { kDevice, kManaged, kPinned, kHost, kVmm, kCpu };
enum class DomainLevel : std::uint8_t { kDriver, kAllocator, kUser };

// A place that memory comes from, at one level: the driver's segments, or the blocks that a
// framework's allocator carves out of them. The two levels are never added up. Untracked bytes are
// the parent's bytes minus those of its children.
struct MemoryDomain {
  std::string name;          // "segments", "blocks"
  std::int32_t device = -1;  // ordinal; -1 = none (host)
  DomainKind kind = DomainKind::kDevice;
  DomainLevel level = DomainLevel::kAllocator;
  DomainId parent;  // the domain that this one's memory comes from, or none
  std::optional<std::int64_t> capacity{};
};

enum class Action : std::uint8_t {
  kAlloc,
  kFreeRequested,  // the program freed it; a stream may still use it
  kFreeCompleted,  // the memory can be reused
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kOom,       // size = bytes requested; key = what the driver said was free, or kUnknownBytes
  kAdjust,    // size = ± bytes without a key
  kMark,      // a named moment; name in History::marks
  kAnnotate,  // says something about what is live at `key`; its label says what
  kOther,     // kept and counted, without meaning here
};

inline constexpr std::uint64_t kUnknownBytes = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

// 32 bytes: files hold millions.
struct Event {
  std::uint64_t key = 0;  // address or handle; unique among what is live in a domain
  std::int64_t size = 0;  // as the file says: PyTorch logs requested bytes of blocks
  std::int64_t time = kNoTime;
  StackId stack;             // may be none
  std::uint16_t stream = 0;  // index into History::streams
  std::uint8_t domain = 0;   // DomainId of the event
  Action action = Action::kOther;
};
static_assert(sizeof(Event) == 32);

// Events of one device (or of one list of the file), in file order: entry N of a file's list is row
// first_event + N.
struct Trace {
  std::int32_t device = -1;
  std::string name;  // as the file writes it
  std::uint64_t first_event = 0;
  std::uint64_t event_count = 0;
  DomainId blocks;          // allocator-level domain of this trace
  DomainId segments;        // driver-level domain of this trace
  bool overflowed = false;  // the recorder's ring dropped the oldest entries
  // What was there before the first event, where the format gives only a sum: live bytes that no
  // event frees and no block of the state shows, and reserved bytes (of inputs without a state).
  std::int64_t preexisting_bytes = 0;
  std::int64_t preexisting_reserved = 0;
  // This many of the first events are allocations from before the recording, which the file lists
  // like others: "start" is after them.
  std::uint64_t listed_before = 0;
  // Where the writer's own count of live bytes stands beside the events: how many of the changes
  // from one event to the next could be compared, and how many agree. All = no event is missing.
  std::uint64_t checked_changes = 0;
  std::uint64_t agreeing_changes = 0;
  std::optional<std::int64_t> lifetime_peak{};  // of live bytes, before the recording included
};

// A named span or point in time.
struct Mark {
  std::string name;
  std::int32_t device = -1;
  std::int64_t begin = kNoTime;
  std::int64_t end = kNoTime;  // kNoTime when it never ended
};

// Where physical memory that a handle names (DomainKind::kVmm) can be seen, and how long.
struct AddressRange {
  std::uint64_t event = 0;  // row of History::events: the allocation of the memory
  std::uint64_t address = 0;
  std::int64_t size = 0;
  std::int64_t begin = kNoTime;
  std::int64_t end = kNoTime;  // kNoTime when it was never unmapped
};

// What an allocation of `size` bytes by `stack` is divided into where more is known than its size:
// a compiler's arena, into the buffers that lie in it. Its parts add up to `size`.
struct Breakdown {
  StackId stack;
  std::int64_t size = 0;
  std::uint32_t first_part = 0;
  std::uint32_t part_count = 0;
};
struct BreakdownPart {
  StackId stack;
  LabelSetId labels;  // beside those of the allocation
  std::int64_t bytes = 0;
};

enum class Clock : std::uint8_t { kAbsent, kUnix, kRelative };

struct History {
  // Whether any event has this action, in a recording that is finished.
  [[nodiscard]] bool Has(Action action) const {
    return (actions >> static_cast<unsigned>(action) & 1U) != 0;
  }

  std::vector<MemoryDomain> domains;
  std::vector<Trace> traces;
  RowVector<Event> events;
  std::uint32_t actions = 0;  // a bit for each that events have: RecordingBuilder::Finish sets it
  // Per event, when any event has labels (pool, compile context, user metadata); else empty.
  std::vector<LabelSetId> labels;
  std::vector<std::uint64_t> streams;  // raw stream handles; [0] is 0, the default stream
  std::vector<Mark> marks;
  std::vector<AddressRange> mapped;
  std::vector<Breakdown> breakdowns;  // one at most per stack and size
  std::vector<BreakdownPart> parts;
  Clock clock = Clock::kAbsent;
};

enum class BlockState : std::uint8_t { kActive, kPendingFree, kInactive };

struct Block {
  std::uint64_t address = 0;
  std::int64_t size = 0;       // rounded, as the allocator counts it
  std::int64_t requested = 0;  // what the program requested; meaningless unless active or pending
  StackId stack;               // may be none
  BlockState state = BlockState::kInactive;
};

struct Segment {
  std::uint64_t address = 0;
  std::int64_t size = 0;
  std::int64_t allocated = 0;  // bytes of active blocks, as the file says
  std::int64_t active = 0;     // the same plus pending free
  std::int64_t requested = 0;
  std::int32_t device = -1;
  std::uint16_t stream = 0;  // index into History::streams
  StackId stack;             // may be none
  std::uint32_t first_block = 0;
  std::uint32_t block_count = 0;  // rows of AllocatorState::blocks, by address
  bool small = false;
  bool expandable = false;
  std::uint64_t pool_owner = 0;  // pool id (owner, id); (0, 0) is the default pool
  std::uint64_t pool_id = 0;
  bool host = false;  // pinned host memory
};

// Segments and blocks when the file was written.
struct AllocatorState {
  std::vector<Segment> segments;  // by device, then address
  std::vector<Block> blocks;
};

struct Setting {
  std::string name;
  std::string value;

  friend bool operator==(const Setting&, const Setting&) = default;
};

}  // namespace memtool
