// The allocator's segments at a moment, and what fragments them: how much of the free memory can be
// returned, which segments are kept by little live memory, and who holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "memtool/profile/allocator/free_memory.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/model/history.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/selection.h"

namespace memtool {

// A segment for large blocks is pinned when its live bytes are at most this share of them and what
// they keep from being returned.
inline constexpr double kPinnedShare = 0.25;

struct SegmentsQuery {
  By by{};                 // who holds: frames, stacks or buckets
  std::size_t slices = 0;  // SegmentRow::fill in this many equal parts; 0 = none
  bool blocks = false;     // SegmentRow::block_list, and SegmentsAnswer::holders
};

// Who allocated, as rows of top name them. No name: nothing is live; kNoStack: unknown.
struct SegmentHolder {
  SharedText name;
  SharedText file;
  std::int64_t line = 0;  // 0 = none

  friend bool operator==(const SegmentHolder&, const SegmentHolder&) = default;
  friend bool operator<(const SegmentHolder& a, const SegmentHolder& b) {
    return std::tie(a.name, a.file, a.line) < std::tie(b.name, b.file, b.line);
  }
};

// Shares of an equal part of a segment.
struct SliceFill {
  double used = 0;
  double pending = 0;  // of `used`: what waits for a stream
};

// A block of a segment. Bytes.
struct SegmentBlock {
  std::int64_t offset = 0;     // from the beginning of the segment
  std::int64_t size = 0;       // as the allocator rounds it
  std::int64_t requested = 0;  // by the program; 0 where it is free
  BlockState state = BlockState::kInactive;
  std::optional<std::size_t> holder{};  // row of SegmentsAnswer::holders; none where it is free
  std::optional<std::int64_t> event{};  // entry of the trace that allocated it, if that is recorded
};

// Bytes.
struct SegmentRow {
  Segment segment;
  std::uint64_t stream = 0;  // raw handle
  FreeMemory gives;
  std::int64_t request = 0;       // the size in question of its pool, see RequestSizes
  std::int64_t largest_free = 0;  // of the blocks that the file lists
  std::int64_t live_blocks = 0;   // including those that wait for a stream
  bool estimated = false;         // a size in it follows from the allocator's rules, not the file
  SegmentHolder holder{};         // of most of what is live in it; ties by name
  std::vector<SliceFill> fill{};
  std::vector<SegmentBlock> block_list{};  // by address

  [[nodiscard]] std::int64_t free() const {
    return SaturatingSubtract(segment.size, segment.active);
  }
  // Where free memory lies in no listed block, its largest piece may be any.
  [[nodiscard]] bool pieces_known() const { return gives.unlisted <= 0; }
  // What live blocks keep from being returned to the driver.
  [[nodiscard]] std::int64_t kept() const { return gives.reuse_only + gives.unlisted; }
  [[nodiscard]] bool pinned() const;
};

// Sums over segments, in bytes unless they say otherwise.
struct SegmentTotals {
  std::int64_t reserved = 0;
  std::int64_t allocated = 0;
  std::int64_t pending = 0;  // waits for a stream
  std::int64_t free = 0;
  std::int64_t largest_free = 0;
  std::int64_t request = 0;  // the largest in question, of the pools that are fragmented
  bool failed = false;       // a request failed at this moment: it is the one in question
  std::int64_t splits = 0;   // how many free blocks lie in segments that are in use
  std::int64_t split_bytes = 0;
  std::int64_t unused = 0;  // how many segments have no live block
  std::int64_t unused_bytes = 0;
  std::int64_t pinned = 0;        // how many segments
  std::int64_t pinned_bytes = 0;  // what they keep
  std::int64_t pins = 0;          // live bytes in them
  std::int64_t estimated = 0;     // how many segments
  std::int64_t unplaced = 0;      // live bytes in no known segment
  std::int64_t unplaced_blocks = 0;
  FreeMemory gives;
  bool programs = true;      // of compilers' plans only: their segments are allocations that stay
  bool empty_cache = false;  // PyTorch's allocators have such a call

  [[nodiscard]] bool pieces_known() const { return gives.unlisted <= 0 && !exceeds(); }
  // More is live than is reserved: segments are missing, or not what was recorded.
  [[nodiscard]] bool exceeds() const { return SaturatingAdd(allocated, unplaced) > reserved; }
  // The share of reserved memory that is fragmented, see FreeMemory.
  [[nodiscard]] double fragmentation() const {
    return reserved > 0 ? static_cast<double>(gives.fragmented) / static_cast<double>(reserved)
                        : 0.0;
  }
};

struct PinnedBy {
  SegmentHolder holder;
  std::int64_t bytes = 0;  // kept from being returned
};

struct SegmentsAnswer {
  AnswerHead head{.question = "segments"};
  std::vector<SegmentRow> rows;  // the most free first
  SegmentTotals totals;
  std::vector<PinnedBy> pinned_by;  // the most kept first; ties by holder
  // With SegmentsQuery::blocks.
  bool blocks = false;
  std::vector<SegmentHolder> holders{};
};

Value BlocksValue(const SegmentRow& row);

Value AddressValue(std::uint64_t address);  // "0x7f00"

inline constexpr auto kSegmentFields = Fields<SegmentRow>({
    {"free", "FREE", Unit::kAmount, [](const SegmentRow& row) { return Value(row.free()); },
     "bytes of the segment that are not in use"},
    {"size", "SIZE", Unit::kAmount, [](const SegmentRow& row) { return Value(row.segment.size); },
     "bytes of the segment"},
    {"largest_free", "LARGEST FREE", Unit::kAmount,
     [](const SegmentRow& row) { return row.pieces_known() ? Value(row.largest_free) : Value(); },
     "its largest free block", Drop(1), "integer|null"},
    {"live_blocks", "LIVE", Unit::kCount, &SegmentRow::live_blocks, "blocks in use", Drop(5)},
    {"device", "DEV", Unit::kOrdinal,
     [](const SegmentRow& row) { return Value(row.segment.device); }, "the device", Drop(4)},
    {"address", "ADDRESS", Unit::kAddress,
     [](const SegmentRow& row) { return AddressValue(row.segment.address); }, "where it begins",
     Drop(6) | kFixed},
    {"fill", "IN USE", Unit::kText, kInWords,
     "a picture of the segment, from its beginning to its end", Drop(3) | kFixed},
    {"holder", "HELD BY", Unit::kText, [](const SegmentRow& row) { return Value(row.holder.name); },
     "who holds the most of it", kPlaces},
    {"stream", "", Unit::kAddress, [](const SegmentRow& row) { return AddressValue(row.stream); },
     "the stream that it belongs to"},
    {"pool", "", Unit::kText,
     [](const SegmentRow& row) { return Value(row.segment.small ? "small" : "large"); },
     "which requests it is for", kPlain, R"("small"|"large")"},
    {"pool_id", "", Unit::kText,
     [](const SegmentRow& row) {
       return Value("(" + std::to_string(row.segment.pool_owner) + ", " +
                    std::to_string(row.segment.pool_id) + ")");
     },
     "the private pool, (0, 0) = none"},
    {"returnable", "", Unit::kAmount,
     [](const SegmentRow& row) { return Value(row.gives.returnable); },
     "bytes that empty_cache() gives back"},
    {"fragmented", "", Unit::kAmount,
     [](const SegmentRow& row) { return Value(row.gives.fragmented); },
     "free bytes in gaps that are too small"},
    {"request", "", Unit::kAmount, &SegmentRow::request, "what they are too small for"},
    {"expandable", "", Unit::kCount,
     [](const SegmentRow& row) { return Value(row.segment.expandable ? 1 : 0); },
     "whether it can grow", kPlain, "0|1"},
    {"allocated", "", Unit::kAmount,
     [](const SegmentRow& row) { return Value(row.segment.allocated); },
     "bytes that the program holds"},
    {"active", "", Unit::kAmount, [](const SegmentRow& row) { return Value(row.segment.active); },
     "these, and what waits for a stream"},
    {"requested", "", Unit::kAmount,
     [](const SegmentRow& row) { return Value(row.segment.requested); },
     "bytes that the program requested"},
    {"blocks", "", Unit::kCount,
     [](const SegmentRow& row) { return Value(row.segment.block_count); },
     "blocks of the segment, free ones too"},
    {"pinned", "", Unit::kCount, [](const SegmentRow& row) { return Value(row.pinned() ? 1 : 0); },
     "whether little that is in use keeps it from being released", kPlain, "0|1"},
    {"estimated", "", Unit::kCount,
     [](const SegmentRow& row) { return Value(row.estimated ? 1 : 0); },
     "whether its blocks follow from rules and not from the file", kPlain, "0|1"},
    {"block_list", "", Unit::kNested, &BlocksValue,
     "with --blocks: its blocks from its beginning to its end, each a list of its offset, size, "
     "requested bytes, state (live, pending or free), what holds it as an entry of holders, and "
     "the "
     "event that allocated it; not in CSV",
     kNests, "any[][]?"},
});

// The figures besides the rows.
std::vector<NamedValue> MakeFigures(const SegmentsAnswer& answer);
AnswerView MakeView(const SegmentsAnswer& answer);

// Takes any number of inputs, one after the other.
class SegmentsMaker {
 public:
  explicit SegmentsMaker(SegmentsQuery query) : query_(std::move(query)) {}
  // Errors: kUnsupported for an input that does not say segments; those of GroupAllocations for
  // the holders; by a label all holders are kNoStack.
  Result<void> Add(const Selection& selection);
  SegmentsAnswer Make() &&;

 private:
  void Sum(const SegmentRow& row);

  SegmentsQuery query_;
  SegmentsAnswer answer_;
  std::map<SegmentHolder, std::int64_t> pinned_by_;
};

Result<SegmentsAnswer> Segments(const Selection& selection, SegmentsQuery query = {});

}  // namespace memtool
