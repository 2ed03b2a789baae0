// Sends requests to an allocator and keeps the blocks by their tags.
#pragma once

#include <vector>

#include "memtool/profile/whatif/caching_allocator.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool::whatif {

class Player {
 public:
  Player(const Requests& requests, const AllocatorSettings& settings, const DriverModel& driver,
         Rules rules = {})
      : requests_(requests),
        allocator_(settings, driver, rules),
        blocks_(requests.tags, CachingAllocator::kNoBlock) {}

  // What was there before the first event: as it lay, or requested once more by itself, segment by
  // segment, the last addresses first. The latter is false when that runs out of memory.
  void LayRecorded();
  bool LayAnew();

  // Of an allocation, its block, which is freed at once when it failed in the recording; kNoBlock
  // = out of memory, or another kind of request.
  CachingAllocator::BlockId Send(const Request& request) {
    switch (request.kind) {
      case Request::Kind::kAllocate:
      case Request::Kind::kFailed: {
        const auto block = allocator_.Allocate(request.pool(), request.size, request.tag);
        ForgetCompleted();
        blocks_[request.tag] = block;
        if (request.kind == Request::Kind::kFailed) {
          FreeFailed(block);
          blocks_[request.tag] = CachingAllocator::kNoBlock;
        }
        return block;
      }
      case Request::Kind::kFreeRequested:
        if (blocks_[request.tag] != CachingAllocator::kNoBlock) {
          allocator_.FreeRequested(blocks_[request.tag]);
        }
        break;
      case Request::Kind::kFreeCompleted:
        if (blocks_[request.tag] != CachingAllocator::kNoBlock) {
          allocator_.FreeCompleted(blocks_[request.tag]);
          blocks_[request.tag] = CachingAllocator::kNoBlock;
        }
        break;
      case Request::Kind::kEmptyCache:
        allocator_.EmptyCache();
        ForgetCompleted();
        break;
    }
    return CachingAllocator::kNoBlock;
  }

  [[nodiscard]] CachingAllocator& allocator() { return allocator_; }
  // kNoBlock: it failed, or is free.
  [[nodiscard]] CachingAllocator::BlockId GetBlock(std::uint32_t tag) const { return blocks_[tag]; }

 private:
  void ForgetCompleted() {
    for (const std::uint32_t tag : allocator_.completed()) {
      blocks_[tag] = CachingAllocator::kNoBlock;
    }
  }
  void FreeFailed(CachingAllocator::BlockId block);

  const Requests& requests_;
  CachingAllocator allocator_;
  std::vector<CachingAllocator::BlockId> blocks_;  // by tag
};

}  // namespace memtool::whatif
