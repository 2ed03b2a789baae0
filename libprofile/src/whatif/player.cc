#include "whatif/player.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace memtool::whatif {

void Player::LayRecorded() {
  std::vector<CachingAllocator::Laid> blocks;
  for (const BaseSegment& segment : requests_.segments) {
    blocks.clear();
    for (const BaseBlock& block :
         std::span(requests_.blocks).subspan(segment.first_block, segment.block_count)) {
      blocks.push_back(block.laid);
    }
    CachingAllocator::LaidSegment place = segment.place;
    place.blocks = blocks;
    allocator_.Lay(place, blocks_);
  }
  allocator_.FinishLaying();
}

bool Player::LayAnew() {
  std::vector<std::uint32_t> order(requests_.segments.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return requests_.segments[a].place.address > requests_.segments[b].place.address;
  });
  for (const std::uint32_t row : order) {
    const BaseSegment& segment = requests_.segments[row];
    for (const BaseBlock& block :
         std::span(requests_.blocks).subspan(segment.first_block, segment.block_count)) {
      if (block.laid.tag == CachingAllocator::kFreeTag) {
        continue;
      }
      const auto id = allocator_.Allocate(segment.place.pool, block.requested, block.laid.tag);
      blocks_[block.laid.tag] = id;
      if (id == CachingAllocator::kNoBlock) {
        return false;
      }
      if (block.laid.pending) {
        allocator_.FreeRequested(id);
      }
    }
  }
  return true;
}

// What the program did after the failure is unknown: the memory is there again at once. The changes
// of the allocation stay to be seen.
void Player::FreeFailed(CachingAllocator::BlockId block) {
  if (block != CachingAllocator::kNoBlock) {
    allocator_.FreeUnseen(block);
  }
}

}  // namespace memtool::whatif
