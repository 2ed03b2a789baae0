#include "model/check_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/recording_builder.h"
#include "model/damage.h"

namespace memtool {

namespace {

// What the blocks of a segment add up to; the last one ends at `end`.
struct Listed {
  std::int64_t allocated = 0;
  std::int64_t active = 0;
  std::int64_t requested = 0;
  std::int64_t inactive = 0;
  std::uint64_t end = 0;
  bool small = false;  // some have less than was asked for
  bool gaps = false;
};

class StateChecker {
 public:
  StateChecker(AllocatorState& state, std::span<const std::uint64_t> offsets)
      : state_(state), offsets_(offsets) {}

  std::optional<Error> Check(std::vector<Diagnostic>& diagnostics) {
    for (std::size_t row = 0; row < state_.segments.size(); ++row) {
      CheckSegment(row);
      if (error_) {
        return std::move(error_);
      }
    }
    CheckRuns();
    CheckOverlap();
    if (error_) {
      return std::move(error_);
    }
    unfilled_.MoveTo(diagnostics, "blocks_do_not_fill_segment",
                     "segments whose blocks do not fill them exactly");
    small_.MoveTo(diagnostics, "segments_with_small_blocks",
                  "segments with blocks that are smaller than what was asked for (which is unknown "
                  "there: the block's size stands in for it)");
    sums_.MoveTo(diagnostics, "segment_sums",
                 "segments whose allocated or requested bytes contradict their blocks (whose sums "
                 "stand in for them)");
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> Offset(std::size_t row) const {
    return row < offsets_.size() ? std::optional(offsets_[row]) : std::nullopt;
  }

  void Refuse(std::size_t row, std::string_view what) {
    if (!error_) {
      error_ = Error{.code = ErrorCode::kMalformed,
                     .input = {},
                     .offset = Offset(row),
                     .field = fmt::format("segment at {:#x}", state_.segments[row].address),
                     .message = fmt::format("contradicts itself: {}", what)};
    }
  }

  // Blocks lie within the segment one after the other, so that no sum of their sizes exceeds its
  // own. More was never asked for than a block has: then what was is not known.
  Listed Place(std::size_t row) {
    const Segment& segment = state_.segments[row];
    const auto size = static_cast<std::uint64_t>(segment.size);
    Listed listed{.end = segment.address};
    const auto blocks = std::span(state_.blocks).subspan(segment.first_block, segment.block_count);
    for (Block& block : blocks) {
      if (block.size < 0 || block.requested < 0) {
        Refuse(row, "a block has a negative size");
      }
      if (block.address < listed.end) {
        Refuse(row, &block == blocks.data()
                        ? "a block lies before it"
                        : "its blocks overlap, or are not in the order of their addresses");
      }
      const std::uint64_t begin = block.address - segment.address;
      if (begin > size || static_cast<std::uint64_t>(block.size) > size - begin) {
        Refuse(row, "a block lies beyond its end");
      }
      if (error_) {
        break;
      }
      listed.gaps = listed.gaps || block.address != listed.end;
      listed.end = block.address + static_cast<std::uint64_t>(block.size);
      if (block.state == BlockState::kInactive) {
        listed.inactive = SaturatingAdd(listed.inactive, block.size);
        continue;
      }
      listed.small = listed.small || block.requested > block.size;
      block.requested = std::min(block.requested, block.size);
      listed.active = SaturatingAdd(listed.active, block.size);
      listed.requested = SaturatingAdd(listed.requested, block.requested);
      if (block.state == BlockState::kActive) {
        listed.allocated = SaturatingAdd(listed.allocated, block.size);
      }
    }
    return listed;
  }

  void CheckSegment(std::size_t row) {
    Segment& segment = state_.segments[row];
    for (const std::int64_t figure : {segment.allocated, segment.active, segment.requested}) {
      if (segment.size < 0 || figure < kSumOfBlocks) {
        return Refuse(row, "one of its figures is negative");
      }
    }
    if (static_cast<std::uint64_t>(segment.size) > UINT64_MAX - segment.address) {
      return Refuse(row, "it ends beyond the last address");
    }
    const Listed listed = Place(row);
    if (error_) {
      return;
    }
    CheckSums(row, listed);
    const bool filled =
        !listed.gaps && listed.end - segment.address == static_cast<std::uint64_t>(segment.size);
    if (!filled && segment.block_count > 0) {
      unfilled_.Add(Offset(row));
    }
    if (listed.small) {
      small_.Add(Offset(row));
    }
  }

  void CheckSums(std::size_t row, const Listed& listed) {
    Segment& segment = state_.segments[row];
    const auto fill = [](std::int64_t& figure, std::int64_t sum) {
      figure = figure == kSumOfBlocks ? sum : figure;
    };
    fill(segment.allocated, listed.allocated);
    fill(segment.active, listed.active);
    fill(segment.requested, listed.requested);
    if (segment.active > segment.size) {
      return Refuse(row, "more of it is in use than it has");
    }
    if (listed.inactive > SaturatingSubtract(segment.size, segment.active)) {
      return Refuse(row, "its free blocks are more than is not in use");
    }
    if (segment.allocated > segment.active) {
      return Refuse(row, "more of it is allocated than is in use");
    }
    if (listed.active > segment.active || listed.allocated > segment.allocated) {
      return Refuse(row, "its blocks are more than it says is in use");
    }
    // What is in use in blocks that are not listed may be allocated and asked for, or not.
    const std::int64_t unlisted = SaturatingSubtract(segment.active, listed.active);
    const auto restrict_to = [unlisted](std::int64_t& figure, std::int64_t least) {
      const std::int64_t most = SaturatingAdd(least, unlisted);
      const bool possible = figure >= least && figure <= most;
      figure = possible ? figure : most;
      return possible;
    };
    const bool allocated = restrict_to(segment.allocated, listed.allocated);
    const bool requested = restrict_to(segment.requested, listed.requested);
    // Whoever adds up what blocks were asked for has the same damage in the sum.
    if (!allocated || (!requested && !listed.small)) {
      sums_.Add(Offset(row));
    }
  }

  // Every block is of one segment.
  void CheckRuns() {
    std::vector<std::size_t> rows(state_.segments.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    std::erase_if(rows, [this](std::size_t row) { return state_.segments[row].block_count == 0; });
    std::sort(rows.begin(), rows.end(), [this](std::size_t a, std::size_t b) {
      return std::pair(state_.segments[a].first_block, a) <
             std::pair(state_.segments[b].first_block, b);
    });
    std::size_t end = 0;
    for (const std::size_t row : rows) {
      const Segment& segment = state_.segments[row];
      if (segment.first_block != end) {
        return Refuse(row, segment.first_block < end ? "it shares blocks with another segment"
                                                     : "blocks before its own are of no segment");
      }
      end += segment.block_count;
    }
    if (end != state_.blocks.size() && !error_) {
      error_ = Error{.input = {}, .field = "blocks", .message = "some are of no segment"};
    }
  }

  void CheckOverlap() {
    std::vector<std::size_t> rows(state_.segments.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    const auto key = [this](std::size_t row) {
      const Segment& segment = state_.segments[row];
      return std::tuple(segment.host, segment.device, segment.address, row);
    };
    const auto before = [&key](std::size_t a, std::size_t b) { return key(a) < key(b); };
    if (!std::is_sorted(rows.begin(), rows.end(), before)) {
      std::sort(rows.begin(), rows.end(), before);
    }
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const Segment& last = state_.segments[rows[i - 1]];
      const Segment& segment = state_.segments[rows[i]];
      if (last.host == segment.host && last.device == segment.device &&
          segment.address - last.address < static_cast<std::uint64_t>(last.size)) {
        return Refuse(rows[i], fmt::format("it overlaps with the segment at {:#x}", last.address));
      }
    }
  }

  AllocatorState& state_;
  std::span<const std::uint64_t> offsets_;
  std::optional<Error> error_;
  Damage unfilled_;
  Damage small_;
  Damage sums_;
};

}  // namespace

std::optional<Error> CheckState(AllocatorState& state, std::span<const std::uint64_t> offsets,
                                std::vector<Diagnostic>& diagnostics) {
  return StateChecker(state, offsets).Check(diagnostics);
}

}  // namespace memtool
