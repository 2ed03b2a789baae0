#include "memtool/profile/answers/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/allocator/request_sizes.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/history/groups.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/at_moment.h"

namespace memtool {

namespace {

// How much of each equal part of a segment is in use.
std::vector<SliceFill> GetFill(const Segment& segment, std::span<const Block> blocks,
                               std::size_t slices) {
  std::vector<SliceFill> fill(slices);
  const double slice = static_cast<double>(segment.size) / static_cast<double>(slices);
  for (const Block& block : blocks) {
    if (block.state == BlockState::kInactive || slice <= 0) {
      continue;
    }
    const auto begin = static_cast<double>(block.address - segment.address);
    const double end = begin + static_cast<double>(block.size);
    auto at = static_cast<std::size_t>(begin / slice);
    for (; at < slices && static_cast<double>(at) * slice < end; ++at) {
      const double part = std::min(end, static_cast<double>(at + 1) * slice) -
                          std::max(begin, static_cast<double>(at) * slice);
      fill[at].used += std::max(part, 0.0);
      fill[at].pending += block.state == BlockState::kPendingFree ? std::max(part, 0.0) : 0.0;
    }
  }
  for (SliceFill& part : fill) {  // bytes become shares
    part.used = slice > 0 ? part.used / slice : 0;
    part.pending = slice > 0 ? part.pending / slice : 0;
  }
  return fill;
}

// Who allocated live blocks.
class Holders {
 public:
  explicit Holders(AllocationGroups groups) : groups_(std::move(groups)) {}

  // A number per holder, in the order in which they are asked for.
  std::optional<std::size_t> Number(StackId stack, std::vector<SegmentHolder>& holders) {
    const std::uint32_t group = GetGroup(stack);
    const auto [it, fresh] = numbers_.try_emplace(group, holders.size());
    if (fresh) {
      holders.push_back(Holder(group));
    }
    return it->second;
  }

  // The group that holds most; ties by name. None: nothing is live.
  using Group = std::optional<std::uint32_t>;
  [[nodiscard]] Group Largest(std::span<const Block> blocks) const {
    std::map<std::uint32_t, std::int64_t> held;
    for (const Block& block : blocks) {
      if (block.state != BlockState::kInactive) {
        std::int64_t& bytes = held[GetGroup(block.stack)];
        bytes = SaturatingAdd(bytes, block.size);
      }
    }
    Group largest;
    std::int64_t most = -1;
    for (const auto& [group, bytes] : held) {
      if (bytes > most || (bytes == most && Holder(group) < Holder(largest))) {
        largest = group;
        most = bytes;
      }
    }
    return largest;
  }

  [[nodiscard]] SegmentHolder Holder(Group group) const {
    if (!group) {
      return {};
    }
    if (*group == AllocationGroups::kRest) {
      return {.name = std::string(kNoStack), .file = {}};
    }
    const AllocationGroups::Name& name = groups_.names[*group];
    return {.name = name.name, .file = name.file, .line = name.line};
  }

 private:
  [[nodiscard]] std::uint32_t GetGroup(StackId stack) const {
    return stack.valid() && stack.value() < groups_.of_stack.size()
               ? groups_.of_stack[stack.value()]
               : AllocationGroups::kRest;
  }

  AllocationGroups groups_;
  KeyMap<std::uint32_t, std::size_t> numbers_;
};

// Who allocated what lies at an address, as entries of a trace.
using AllocatedAt = KeyMap<std::uint64_t, std::int64_t>;

AllocatedAt FindAllocations(const HistoryIndex& index, const Trace& trace, std::int64_t last) {
  AllocatedAt found;
  const auto blocks = index.LiveAt(trace, last);
  for (const LiveBlock& live : *blocks) {
    if (live.event && !live.before_recording && !live.without_address) {
      found.insert_or_assign(live.address,
                             static_cast<std::int64_t>(*live.event - trace.first_event));
    }
  }
  return found;
}

std::vector<SegmentBlock> ListBlocks(const Segment& segment, std::span<const Block> blocks,
                                     const AllocatedAt& allocated, Holders& names,
                                     std::vector<SegmentHolder>& holders) {
  std::vector<SegmentBlock> list;
  list.reserve(blocks.size());
  for (const Block& block : blocks) {
    SegmentBlock& each = list.emplace_back();
    each.offset = static_cast<std::int64_t>(block.address - segment.address);
    each.size = block.size;
    each.state = block.state;
    if (block.state == BlockState::kInactive) {
      continue;
    }
    each.requested = block.requested;
    each.holder = names.Number(block.stack, holders);
    if (const auto at = allocated.find(block.address); at != allocated.end()) {
      each.event = at->second;
    }
  }
  return list;
}

std::string_view StateName(BlockState state) {
  switch (state) {
    case BlockState::kInactive:
      return "free";
    case BlockState::kPendingFree:
      return "pending";
    default:
      return "live";
  }
}

SegmentRow MakeSegmentRow(const Segment& segment, std::span<const Block> blocks,
                          const SegmentUse& use, std::size_t slices) {
  SegmentRow row{.segment = segment, .gives = use.gives, .request = use.request};
  for (const Block& block : blocks) {
    if (block.state == BlockState::kInactive) {
      row.largest_free = std::max(row.largest_free, block.size);
    } else {
      ++row.live_blocks;
    }
  }
  if (slices > 0) {
    row.fill = GetFill(segment, blocks, slices);
  }
  return row;
}

// The most free first. Rows are large: each is moved once, when its place is known.
void SortRows(std::vector<SegmentRow>& rows) {
  const auto key = [](const SegmentRow& row) {
    return std::tuple(SaturatingSubtract(0, row.free()), SaturatingSubtract(0, row.segment.size),
                      row.segment.device, row.segment.address);
  };
  std::vector<std::pair<decltype(key(rows[0])), std::size_t>> order;
  order.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    order.emplace_back(key(rows[i]), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<SegmentRow> sorted;
  sorted.reserve(rows.size());
  for (const auto& [unused, i] : order) {
    sorted.push_back(std::move(rows[i]));
  }
  rows = std::move(sorted);
}

void CountSplits(const Segment& segment, std::span<const Block> blocks, SegmentTotals& totals) {
  for (const Block& block : blocks) {
    if (block.state == BlockState::kInactive && segment.active > 0) {
      ++totals.splits;
      totals.split_bytes = SaturatingAdd(totals.split_bytes, block.size);
    }
  }
}

}  // namespace

bool SegmentRow::pinned() const {
  const auto live = static_cast<double>(segment.active);
  return segment.active > 0 && !segment.small && kept() > 0 &&
         live <= kPinnedShare * (live + static_cast<double>(kept()));
}

Value AddressValue(std::uint64_t address) {
  return fmt::format("0x{:x}", address);
}

Result<void> SegmentsMaker::Add(const Selection& selection) {
  const Recording& recording = selection.recording();
  if (!recording.state || !recording.history) {
    return Fail(ErrorCode::kUnsupported, "does not record the allocator's segments");
  }
  auto groups = GroupAllocations(selection.view(), query_.by);
  MEMTOOL_TRY(groups);
  Holders holders(*std::move(groups));
  answer_.blocks = query_.blocks;
  answer_.head.Add(selection);
  SegmentTotals& totals = answer_.totals;
  totals.empty_cache =
      totals.empty_cache || recording.metadata.origin.framework == Framework::kPyTorch;
  totals.programs = totals.programs && recording.metadata.origin.kind == RecordingKind::kProgram;
  std::map<Holders::Group, std::int64_t> pinned_by;
  for (const MomentOfTrace& moment : selection.moments()) {
    const Trace& trace = recording.history->traces[moment.trace];
    const StateAtMoment at = StateAt(*selection.history(), trace, moment.event);
    const std::vector<SegmentUse> uses = UseOfEach(at, recording, trace, moment.event);
    const AllocatedAt allocated =
        query_.blocks ? FindAllocations(*selection.history(), trace, moment.event) : AllocatedAt();
    answer_.rows.reserve(answer_.rows.size() + at.state.segments.size());
    totals.failed = totals.failed || FailedAt(recording, trace, moment.event) != nullptr;
    for (std::size_t i = 0; i < at.state.segments.size(); ++i) {
      const Segment& segment = at.state.segments[i];
      const auto blocks =
          std::span(at.state.blocks).subspan(segment.first_block, segment.block_count);
      SegmentRow row = MakeSegmentRow(segment, blocks, uses[i], query_.slices);
      const Holders::Group group = holders.Largest(blocks);
      row.holder = holders.Holder(group);
      row.stream = recording.history->streams[segment.stream];
      row.estimated = at.estimated[i] != 0;
      if (query_.blocks) {
        row.block_list = ListBlocks(segment, blocks, allocated, holders, answer_.holders);
      }
      CountSplits(segment, blocks, totals);
      Sum(row);
      if (row.pinned()) {
        std::int64_t& kept = pinned_by[group];
        kept = SaturatingAdd(kept, row.kept());
      }
      answer_.rows.push_back(std::move(row));
    }
    totals.unplaced = SaturatingAdd(totals.unplaced, at.unplaced_bytes);
    totals.unplaced_blocks += static_cast<std::int64_t>(at.unplaced_blocks);
  }
  for (const auto& [group, bytes] : pinned_by) {
    std::int64_t& kept = pinned_by_[holders.Holder(group)];
    kept = SaturatingAdd(kept, bytes);
  }
  return {};
}

void SegmentsMaker::Sum(const SegmentRow& row) {
  const Segment& segment = row.segment;
  SegmentTotals& totals = answer_.totals;
  const auto add = [](std::int64_t& sum, std::int64_t value) { sum = SaturatingAdd(sum, value); };
  add(totals.reserved, segment.size);
  add(totals.allocated, segment.allocated);
  add(totals.pending, SaturatingSubtract(segment.active, segment.allocated));
  add(totals.free, row.free());
  totals.gives.Add(row.gives);
  totals.request = std::max(totals.request, row.gives.fragmented > 0 ? row.request : 0);
  totals.largest_free = std::max(totals.largest_free, row.largest_free);
  totals.estimated += row.estimated ? 1 : 0;
  if (segment.active == 0) {
    ++totals.unused;
    add(totals.unused_bytes, segment.size);
  }
  if (row.pinned()) {
    ++totals.pinned;
    add(totals.pinned_bytes, row.kept());
    add(totals.pins, segment.active);
  }
}

SegmentsAnswer SegmentsMaker::Make() && {
  answer_.head.sample_type = "reserved";
  answer_.head.unit = "bytes";
  SortRows(answer_.rows);
  for (const auto& [holder, bytes] : pinned_by_) {
    answer_.pinned_by.push_back({.holder = holder, .bytes = bytes});
  }
  std::stable_sort(answer_.pinned_by.begin(), answer_.pinned_by.end(),
                   [](const PinnedBy& a, const PinnedBy& b) { return a.bytes > b.bytes; });
  return std::move(answer_);
}

Result<SegmentsAnswer> Segments(const Selection& selection, SegmentsQuery query) {
  SegmentsMaker maker(std::move(query));
  MEMTOOL_TRY(maker.Add(selection));
  return std::move(maker).Make();
}

Value BlocksValue(const SegmentRow& row) {
  Value::List list;
  list.reserve(row.block_list.size());
  for (const SegmentBlock& block : row.block_list) {
    Value::List each;  // there may be millions: nothing is made twice
    each.reserve(6);
    each.emplace_back(block.offset);
    each.emplace_back(block.size);
    each.emplace_back(block.requested);
    each.emplace_back(StateName(block.state));
    each.emplace_back(block.holder);
    each.emplace_back(block.event);
    list.emplace_back(std::move(each));
  }
  return list;
}

std::vector<NamedValue> MakeFigures(const SegmentsAnswer& answer) {
  const SegmentTotals& totals = answer.totals;
  const bool known = totals.pieces_known();
  std::vector<NamedValue> figures{
      {"total", totals.free},
      {"reserved", totals.reserved},
      {"allocated", totals.allocated},
      {"pending_free", totals.pending},
      {"free", totals.free},
      {"largest_free", known ? Value(totals.largest_free) : Value()},
      {"returnable_bytes", totals.gives.returnable},
      {"reuse_only_bytes", totals.gives.reuse_only},
      {"fragmented_bytes", known ? Value(totals.gives.fragmented) : Value()},
      {"fragmented_for", totals.request},
      {"private_pool_bytes", totals.gives.private_pool},
      {"unlisted_bytes", totals.gives.unlisted},
      {"inactive_splits", totals.splits},
      {"inactive_split_bytes", totals.split_bytes},
      {"unused_segments", totals.unused},
      {"unused_bytes", totals.unused_bytes},
      {"pinned_segments", totals.pinned},
      {"pinned_free_bytes", totals.pinned_bytes},
      {"pinned_live_bytes", totals.pins},
      {"unplaced_bytes", totals.unplaced},
      {"fragmentation", known ? Value(totals.fragmentation()) : Value()}};
  if (answer.blocks) {
    Value::List holders;
    for (const SegmentHolder& holder : answer.holders) {
      holders.emplace_back(Value::Object{
          {"name", holder.name}, {"file", holder.file}, {"line", Value(LineValue(holder.line))}});
    }
    figures.emplace_back("holders", std::move(holders));
  }
  return figures;
}

AnswerView MakeView(const SegmentsAnswer& answer) {
  std::vector<Field<SegmentRow>> fields(kSegmentFields.begin(), kSegmentFields.end());
  if (!answer.blocks) {
    std::erase_if(fields, [](const Field<SegmentRow>& field) { return field.key == "block_list"; });
  }
  return ViewRows<SegmentRow>(answer.head, MakeFigures(answer), answer.rows, std::move(fields));
}

}  // namespace memtool
