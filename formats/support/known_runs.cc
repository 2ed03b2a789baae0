#include "support/known_runs.h"

#include <cstring>

#include "memtool/profile/base/key_hash.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kFirstPrefix = 32;  // shorter runs are quick to follow
constexpr std::size_t kMaxByteCount = std::size_t{8} << 20U;

std::uint64_t HashPrefix(std::span<const std::byte> bytes, std::size_t prefix) {
  return HashBytes(bytes.first(prefix)) | 1U;
}

}  // namespace

std::size_t KnownRuns::Slot(std::uint64_t hash) const {
  std::size_t slot = (hash >> 8U) & (kGroups - 1);
  while (groups_[slot].hash != 0 && groups_[slot].hash != hash) {
    slot = (slot + 1) & (kGroups - 1);
  }
  return slot;
}

const KnownRuns::Run* KnownRuns::Find(std::span<const std::byte> ahead) const {
  for (std::size_t prefix = kFirstPrefix; prefix <= ahead.size() && !groups_.empty(); prefix *= 2) {
    const Group& group = groups_[Slot(HashPrefix(ahead, prefix))];
    for (std::size_t i = 0; i < group.count; ++i) {
      const Run& run = runs_[group.runs[i]];
      if (run.size <= ahead.size() &&
          std::memcmp(bytes_.data() + run.begin, ahead.data(), run.size) == 0) {
        return &run;
      }
    }
    if (!group.deeper) {
      return nullptr;
    }
  }
  return nullptr;
}

void KnownRuns::Add(std::span<const std::byte> run, const Value& value) {
  if (run.size() < kFirstPrefix || bytes_.size() + run.size() > kMaxByteCount) {
    return;
  }
  if (groups_.empty()) {
    groups_.resize(kGroups);
  }
  runs_.push_back({bytes_.size(), run.size(), value});
  bytes_.insert(bytes_.end(), run.begin(), run.end());
  Place(static_cast<std::uint32_t>(runs_.size() - 1), kFirstPrefix);
}

// Puts a run into the group of its prefix, or of a longer one.
void KnownRuns::Place(std::uint32_t run, std::size_t prefix) {
  for (; prefix <= runs_[run].size && used_ < kGroups / 2; prefix *= 2) {
    const std::uint64_t hash = HashPrefix(Bytes(runs_[run]), prefix);
    Group& group = groups_[Slot(hash)];
    used_ += group.hash == 0 ? 1 : 0;
    group.hash = hash;
    if (group.count == kWays && !group.deeper) {
      Split(group, prefix);
    }
    const bool moves = group.deeper && runs_[run].size >= 2 * prefix;
    if (!moves && group.count < kWays) {
      group.runs[group.count++] = run;
      return;
    }
    if (!moves) {
      group.runs[run % kWays] = run;
      return;
    }
  }
}

void KnownRuns::Split(Group& group, std::size_t prefix) {
  const Group before = group;
  group.deeper = true;
  group.count = 0;
  for (const std::uint32_t run : before.runs) {
    if (runs_[run].size < 2 * prefix) {
      group.runs[group.count++] = run;
    }
  }
  for (const std::uint32_t run : before.runs) {
    if (runs_[run].size >= 2 * prefix) {
      Place(run, 2 * prefix);
    }
  }
}

}  // namespace memtool::formats
