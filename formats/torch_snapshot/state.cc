#include "torch_snapshot/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "support/read_error.h"

namespace memtool::formats::torch_snapshot {

namespace {

constexpr std::int64_t kMaxDevices = 65536;

BlockState ToState(const Value& value, std::uint64_t offset) {
  switch (GetWord(value)) {
    case Word::kActiveAllocated:
      return BlockState::kActive;
    case Word::kActivePendingFree:
    case Word::kActiveAwaitingFree:  // what PyTorch's documentation calls it
      return BlockState::kPendingFree;
    case Word::kInactive:
      return BlockState::kInactive;
    default:
      Field(value, Word::kState, offset).Wrong("active_allocated, active_pending_free or inactive");
  }
}

Value Row(ValueKind kind, std::size_t row) {
  Value value = Value::OfRows(kind, static_cast<std::uint32_t>(row), 1);
  value.row = true;
  return value;
}

}  // namespace

void StateTable::SetSegment(Segment& segment, const Value& key, const Value& value,
                            std::uint64_t offset) {
  const Word word = GetWord(key);
  const Field field(value, word, offset);
  switch (word) {
    case Word::kDevice: {
      const std::int64_t device = field.Int();
      // Host memory has no device; it is not known yet which list a segment is in.
      if (device < -1 || device >= kMaxDevices) {
        ThrowRead(ErrorCode::kMalformed, offset, "device",
                  fmt::format("there is no device {}", device));
      }
      segment.device = static_cast<std::int32_t>(device);
      return;
    }
    case Word::kAddress:
      segment.address = field.Address();
      return;
    case Word::kTotalSize:
      segment.size = field.Size();
      return;
    case Word::kAllocatedSize:
      segment.allocated = field.Size();
      return;
    case Word::kActiveSize:
      segment.active = field.Size();
      return;
    case Word::kRequestedSize:
      segment.requested = field.Size();
      return;
    case Word::kStream:
      segment.stream = context_.streams.Index(field.Address(), offset);
      return;
    case Word::kSegmentType:
      segment.small = GetWord(value) == Word::kSmall;
      return;
    case Word::kSegmentPoolId:
      segment.pool_owner = value.kind == kind::kPair ? value.Low() : 0;
      segment.pool_id = value.kind == kind::kPair ? value.High() : 0;
      return;
    case Word::kIsExpandable:
      segment.expandable = field.Bool();
      return;
    case Word::kFrames:
      segment.stack = field.Stack();
      return;
    case Word::kBlocks:
      if (value.kind == kind::kBlocks) {
        segment.first_block = value.Low();
        segment.block_count = value.High();
      } else if (value.kind != ValueKind::kEmptyList) {
        field.Wrong("a list of blocks");
      }
      return;
    default:
      context_.UnknownKey("a segment", key, offset);
  }
}

Value StateTable::AddSegment(std::span<const Value> pairs, std::uint64_t offset) {
  Segment segment{
      .allocated = kSumOfBlocks, .active = kSumOfBlocks, .requested = kSumOfBlocks, .stack = {}};
  std::uint64_t keys = 0;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    keys |= Bit(static_cast<Word>(static_cast<std::uint32_t>(GetWord(pairs[i])) & 63U));
    SetSegment(segment, pairs[i], pairs[i + 1], offset);
  }
  context_.seen.bits |= keys;
  for (const Word needed : {Word::kDevice, Word::kAddress, Word::kTotalSize, Word::kBlocks}) {
    if (!KeySet{keys}.Has(needed)) {
      ThrowRead(ErrorCode::kMalformed, offset, fmt::format("segment[{}]", segments_.size()),
                fmt::format("has no {}", kWords[static_cast<std::size_t>(needed)]));
    }
  }
  segments_.push_back({segment, offset});
  return Row(kind::kSegment, segments_.size() - 1);
}

Value StateTable::AddBlock(std::span<const Value> pairs, std::uint64_t offset) {
  BlockRow row{};
  std::int64_t requested = -1;
  std::uint64_t keys = 0;
  const Value* history = nullptr;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const Word word = GetWord(pairs[i]);
    const Value& value = pairs[i + 1];
    const Field field(value, word, offset);
    keys |= Bit(static_cast<Word>(static_cast<std::uint32_t>(word) & 63U));
    switch (word) {
      case Word::kAddress:
        row.block.address = field.Address();
        row.has_address = true;
        break;
      case Word::kSize:
        row.block.size = field.Size();
        break;
      case Word::kRequestedSize:
        requested = field.Size();
        break;
      case Word::kState:
        row.block.state = ToState(value, offset);
        break;
      case Word::kFrames:
        row.block.stack = field.Stack();
        break;
      case Word::kHistory:
        history = &value;
        break;
      case Word::kUserMetadata:
      case Word::kCompileContext:
        break;
      default:
        context_.UnknownKey("a block", pairs[i], offset);
    }
  }
  context_.seen.bits |= keys;
  // The first entry of a history (up to 2.0) is the block's owner; later ones were there before.
  if (history != nullptr && history->kind == kind::kHistory) {
    const HistoryRow& owner = histories_[history->Low()];
    requested = owner.real_size;
    row.block.stack = owner.stack;
  } else if (history != nullptr && history->kind != ValueKind::kEmptyList) {
    Field(*history, Word::kHistory, offset).Wrong("a block's history");
  }
  // An inactive block's requested size is a leftover of its last owner.
  if (row.block.state != BlockState::kInactive) {
    row.block.requested = requested >= 0 ? requested : row.block.size;
  }
  blocks_.push_back(row);
  return Row(kind::kBlock, blocks_.size() - 1);
}

Value StateTable::AddHistory(std::span<const Value> pairs, std::uint64_t offset) {
  HistoryRow row{};
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const Word word = GetWord(pairs[i]);
    const Field field(pairs[i + 1], word, offset);
    if (word == Word::kRealSize) {
      row.real_size = field.Size();
    } else if (word == Word::kFrames) {
      row.stack = field.Stack();
    } else if (word != Word::kAddr) {
      context_.UnknownKey("a history entry", pairs[i], offset);
    }
  }
  histories_.push_back(row);
  return Row(kind::kHistoryEntry, histories_.size() - 1);
}

// Copies a segment's blocks to the end of `state`. A block without an address follows the one
// before it; one that would lie beyond all addresses lies beyond its segment, too.
void StateTable::PlaceBlocks(const Segment& segment, AllocatorState& state) const {
  std::uint64_t end = segment.address;
  for (std::uint32_t i = 0; i < segment.block_count; ++i) {
    const BlockRow& from = blocks_[segment.first_block + i];
    state.blocks.push_back(from.block);
    if (!from.has_address) {
      state.blocks.back().address = end;
    }
    end = state.blocks.back().address + static_cast<std::uint64_t>(from.block.size);
  }
}

void StateTable::Finish(std::span<const Run> runs, RecordingBuilder& builder) {
  AllocatorState state;
  std::vector<std::uint64_t> offsets;
  std::vector<std::pair<std::uint32_t, bool>> rows;
  for (const Run& run : runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      rows.emplace_back(run.first + i, run.host);
    }
  }
  const auto twice = [this](std::uint32_t row) {
    ThrowRead(ErrorCode::kUnsupported, segments_[row].offset, fmt::format("segment[{}]", row),
              "shares its blocks or itself with another segment");
  };
  // In the order of their blocks, shared ones are neighbours.
  std::sort(rows.begin(), rows.end(), [this](const auto& a, const auto& b) {
    return std::tuple(segments_[a.first].segment.first_block, a.first) <
           std::tuple(segments_[b.first].segment.first_block, b.first);
  });
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Segment& segment = segments_[rows[i].first].segment;
    if ((i > 0 && rows[i].first == rows[i - 1].first) ||
        (segment.block_count > 0 && segment.first_block < end)) {
      twice(rows[i].first);
    }
    if (segment.block_count > 0) {
      end = std::uint64_t{segment.first_block} + segment.block_count;
    }
  }
  const auto key = [this](const std::pair<std::uint32_t, bool>& row) {
    const Segment& segment = segments_[row.first].segment;
    return std::tuple(row.second, segment.device, segment.address, row.first);
  };
  std::sort(rows.begin(), rows.end(),
            [&key](const auto& a, const auto& b) { return key(a) < key(b); });
  for (const auto& [row, host] : rows) {
    Segment segment = segments_[row].segment;
    if (!host && segment.device < 0) {
      ThrowRead(ErrorCode::kMalformed, segments_[row].offset, "device",
                fmt::format("there is no device {}", segment.device));
    }
    segment.host = host;
    segment.device = host ? -1 : segment.device;
    const auto first_block = static_cast<std::uint32_t>(state.blocks.size());
    PlaceBlocks(segment, state);
    segment.first_block = first_block;
    state.segments.push_back(segment);
    offsets.push_back(segments_[row].offset);
  }
  builder.SetState(std::move(state), std::move(offsets));
}

}  // namespace memtool::formats::torch_snapshot
