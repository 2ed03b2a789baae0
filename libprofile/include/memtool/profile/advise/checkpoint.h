// Activation checkpointing: calls free what they keep for the backward pass, and compute it again
// when that begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memtool/profile/advise/calls.h"
#include "memtool/profile/advise/program.h"

namespace memtool::advise {

struct CheckpointQuery {
  std::uint32_t group = 1;  // calls that follow each other and are checkpointed together
  std::uint32_t every = 1;  // of the groups, the first of so many
  bool reentrant = false;   // use_reentrant=True: what is computed again lives through the backward
  // What is not kept is freed three allocations later, as under no_grad; else at the end of its
  // call. Both are possible, and bound what the allocator reserves.
  bool early = true;
  Rules rules{};
};

struct Checkpointed {
  Program program;
  std::int64_t computed_again = 0;  // bytes that their forward allocates
  std::size_t kept = 0;             // blocks of them that nobody frees: caches
};

// How many of `calls` a checkpoint covers.
std::size_t CoveredCalls(std::span<const Call> calls, const CheckpointQuery& query);

Checkpointed Checkpoint(const Program& program, std::span<const Call> calls,
                        const CheckpointQuery& query);

}  // namespace memtool::advise
