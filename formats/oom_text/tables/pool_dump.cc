// What the allocator of XLA and TensorFlow prints of its memory when it runs out.
#include <algorithm>
#include <array>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "oom_text/tables/table_rows.h"
#include "oom_text/words/phrases.h"
#include "support/trimmed.h"

namespace memtool::formats::oom_text {

namespace {

constexpr std::size_t kMaxName = 512;
constexpr std::size_t kMaxClasses = 100'000;
constexpr std::string_view kUsage = "Current usage from device:";

// What a chunk's row says behind " by op ", up to its next word.
std::string_view FindField(std::string_view row, std::string_view key) {
  constexpr std::array<std::string_view, 9> kKeys{" of size ",
                                                  " next ",
                                                  " by op ",
                                                  " action_count ",
                                                  " step ",
                                                  " tag ",
                                                  " allocation_annotation ",
                                                  " freed_at_count ",
                                                  " timestamp "};
  const std::size_t at = row.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = row.substr(at + key.size());
  std::size_t end = rest.size();
  for (const std::string_view other : kKeys) {
    end = std::min(end, rest.find(other));
  }
  return Trimmed(rest.substr(0, end));
}

// "Limit:   16106127360" as bytes, "Limit: 15.00GiB" since 2024.
std::optional<OomNumber> Figure(Phrases& in) {
  std::optional<OomNumber> size;
  if (in.TakeSize(size)) {
    return size;
  }
  std::int64_t bytes = 0;
  return in.TakeInteger(bytes) ? std::optional(OomNumber{.bytes = bytes}) : std::nullopt;
}

}  // namespace

bool PoolDump::IsHeading(std::string_view row) {
  row = Trimmed(row);
  return row.starts_with("BFCAllocator dump for") || row.starts_with(kUsage) || row == "Stats:" ||
         (row.starts_with("Bin (") && row.find("Chunks in use") != std::string_view::npos);
}

bool PoolDump::Begins(std::string_view row) const {
  row = Trimmed(row);
  return listed_ && (row.starts_with("BFCAllocator dump for") || row.starts_with(kUsage) ||
                     row.starts_with("Bin (256):"));
}

bool PoolDump::HasFigures() const {
  return !pool_.chunks.empty() || !pool_.classes.empty() || (pool_.limit && pool_.in_use);
}

std::uint32_t PoolDump::NameIn(std::string_view row) {
  std::string_view name = FindField(row, " by op ");
  name = name.empty() ? FindField(row, " tag ") : name;
  return Intern(name.empty() ? FindField(row, " allocation_annotation ") : name);
}

std::uint32_t PoolDump::Intern(std::string_view name) {
  name = name.substr(0, kMaxName);
  if (name.empty()) {
    return 0;
  }
  if (const auto known = names_.find(name); known != names_.end()) {
    return known->second;
  }
  if (pool_.names.size() >= kMaxNames) {
    return 0;
  }
  pool_.names.emplace_back(name);
  const auto number = static_cast<std::uint32_t>(pool_.names.size() - 1);
  names_.emplace(name, number);
  return number;
}

// "InUse at 7f81d8000000 of size 1280 next 1", until 2018 "Chunk at 0x7f…", in 2020 with "next 1"
// before "of size".
bool PoolDump::TakeChunk(std::string_view row) {
  Phrases in(row);
  const bool free = in.Take("Free at");
  if (!free && !in.Take("InUse at") && !in.Take("Chunk at")) {
    return false;
  }
  listed_ = true;
  std::string_view address = Trimmed(in.rest());
  address = address.substr(0, address.find(' '));
  address.remove_prefix(address.starts_with("0x") ? 2 : 0);
  constexpr int kHex = 16;
  const auto begin = ParseNumber<std::uint64_t>(address, kHex);
  const auto size = ParseNumber<std::int64_t>(FindField(row, " of size "));
  if (!begin || !size || *size <= 0 || *begin > UINT64_MAX - static_cast<std::uint64_t>(*size)) {
    ++pool_.damaged;
    return true;
  }
  OomChunk chunk{.address = *begin, .size = *size, .in_use = !free};
  if (pool_.chunks.size() >= kMaxChunks) {
    ++pool_.left_out;
    return true;
  }
  chunk.name = NameIn(row);
  chunk.region = std::max<std::uint32_t>(pool_.regions, 1) - 1;
  pool_.regions = std::max<std::uint32_t>(pool_.regions, 1);
  pool_.chunks.push_back(chunk);
  return true;
}

// "12 Chunks of size 67108864 totalling 768.00MiB"
bool PoolDump::TakeClass(std::string_view row) {
  Phrases in(row);
  OomSizeClass one;
  if (!in.TakeInteger(one.count) || !in.Take("Chunks of size") || !in.TakeInteger(one.size)) {
    return false;
  }
  listed_ = true;
  if (one.count > 0 && one.size > 0 && pool_.classes.size() < kMaxClasses) {
    pool_.classes.push_back(one);
  } else {
    ++pool_.damaged;
  }
  return true;
}

// TensorFlow's report of the tensors of a step: "6.00GiB from net/embedding/Gather", and at its end
// "Remaining 2 nodes with 2.0KiB".
bool PoolDump::TakeUsage(std::string_view row) {
  Phrases in(row);
  std::optional<OomNumber> size;
  std::int64_t others = 0;
  std::string_view name = "(other operations)";
  if (in.Take("Remaining") && in.TakeInteger(others) && in.Take("nodes with")) {
    in.TakeSize(size);
  } else if (in = Phrases(row); in.TakeSize(size) && in.Take("from")) {
    name = Trimmed(in.rest());
  }
  if (!size || pool_.classes.size() >= kMaxClasses) {
    return false;
  }
  listed_ = true;
  pool_.classes.push_back({.count = 1, .size = size->bytes, .name = Intern(name)});
  OomNumber sum = pool_.in_use.value_or(OomNumber{});
  sum.bytes = SaturatingAdd(sum.bytes, size->bytes);
  sum.precision = SaturatingAdd(sum.precision, size->precision);
  pool_.in_use = sum;
  return true;
}

namespace {

// What follows "Allocator memory summary:", since 2026.
void TakeSummary(Phrases& in, OomPool& pool) {
  constexpr std::size_t kReach = 200;
  if (in.SkipTo("largest free chunk usable by", kReach) && in.SkipTo("end", kReach)) {
    in.TakeSize(pool.largest_free);
  }
  if (in.SkipTo("pool size", kReach)) {
    in.TakeSize(pool.reserved);
  }
  if (in.SkipTo("pool limit", kReach)) {
    in.TakeSize(pool.limit);
  }
}

}  // namespace

bool PoolDump::TakeSums(std::string_view row) {
  Phrases in(row);
  std::int64_t bytes = 0;
  if (in.Take("Next region of size")) {
    listed_ = true;
    pool_.regions += pool_.regions < UINT32_MAX ? 1 : 0;
    return true;
  }
  if (in.Take("Sum Total of in-use chunks:")) {
    std::optional<OomNumber> sum;
    if (in.TakeSize(sum) && !pool_.in_use) {
      pool_.in_use = sum;
    }
    return true;
  }
  if (in.Take("total_region_allocated_bytes_:") || in.Take("Total bytes in pool:")) {
    constexpr std::size_t kReach = 64;
    if (in.TakeInteger(bytes)) {
      pool_.reserved = OomNumber{.bytes = bytes};
    }
    if (in.SkipTo("memory_limit_:", kReach) && in.TakeInteger(bytes)) {
      pool_.limit = OomNumber{.bytes = bytes};
    }
    return true;
  }
  if (in.Take("Allocator memory summary:")) {
    TakeSummary(in, pool_);
    return true;
  }
  return false;
}

bool PoolDump::TakeStats(std::string_view row) {
  const std::array<std::pair<std::string_view, std::optional<OomNumber>*>, 5> rows{
      {{"Limit:", &pool_.limit},
       {"InUse:", &pool_.in_use},
       {"MaxInUse:", &pool_.peak},
       {"Reserved:", &pool_.reserved},
       {"LargestFreeBlock:", &pool_.largest_free}}};
  for (const auto& [name, number] : rows) {
    Phrases in(row);
    if (!in.Take(name)) {
      continue;
    }
    // Allocators that do not keep a figure print it as 0.
    if (const auto figure = Figure(in); figure && (figure->bytes > 0 || number == &pool_.in_use)) {
      *number = figure;
      listed_ = true;
    }
    return true;
  }
  return row == "Stats:" || row.starts_with("NumAllocs:") || row.starts_with("MaxAllocSize:") ||
         row.starts_with("PeakReserved:");
}

bool PoolDump::Take(std::string_view row) {
  row = Trimmed(row);
  constexpr std::string_view kDump = "BFCAllocator dump for";
  if (row.starts_with(kDump)) {
    pool_.allocator = Trimmed(row.substr(kDump.size())).substr(0, kMaxName);
    return true;
  }
  if (row.starts_with(kUsage)) {
    constexpr std::string_view kAllocator = "allocator:";
    const std::size_t at = row.find(kAllocator);
    pool_.allocator =
        Trimmed(row.substr(at == std::string_view::npos ? row.size() : at + kAllocator.size()))
            .substr(0, kMaxName);
    usage_ = true;
    return true;
  }
  if (usage_ && TakeUsage(row)) {
    return true;
  }
  return row.starts_with("Bin (") || row.starts_with("Bin for ") || TakeChunk(row) ||
         TakeClass(row) || TakeSums(row) || TakeStats(row);
}

OomPool PoolDump::Finish() && {
  std::stable_sort(pool_.chunks.begin(), pool_.chunks.end(),
                   [](const OomChunk& a, const OomChunk& b) { return a.address < b.address; });
  // Chunks that overlap are damage: the first one counts.
  std::uint64_t end = 0;
  const auto overlaps = [&end](const OomChunk& chunk) {
    const bool inside = chunk.address < end;
    end = inside ? end : chunk.address + static_cast<std::uint64_t>(chunk.size);
    return inside;
  };
  const std::size_t before = pool_.chunks.size();
  std::erase_if(pool_.chunks, overlaps);
  pool_.damaged += before - pool_.chunks.size();
  if (!pool_.largest_free) {
    std::int64_t largest = 0;
    for (const OomChunk& chunk : pool_.chunks) {
      largest = chunk.in_use ? largest : std::max(largest, chunk.size);
    }
    pool_.largest_free =
        pool_.chunks.empty() ? std::nullopt : std::optional(OomNumber{.bytes = largest});
  }
  if (!pool_.in_use && !pool_.chunks.empty()) {
    OomNumber sum;
    for (const OomChunk& chunk : pool_.chunks) {
      sum.bytes = SaturatingAdd(sum.bytes, chunk.in_use ? chunk.size : 0);
    }
    pool_.in_use = sum;
  }
  return std::move(pool_);
}

std::optional<OomRemat> RematIn(std::string_view line) {
  constexpr std::string_view kBelow = "reduce memory use below";
  const std::size_t at = line.find(kBelow);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  Phrases in(line.substr(at + kBelow.size()));
  std::optional<OomNumber> goal;
  std::optional<OomNumber> reached;
  std::optional<OomNumber> exact;
  const auto behind = [&](std::optional<OomNumber>& size) {
    if (in.Take("(") && in.TakeSize(exact) && in.Take(")") && exact) {
      size = exact;
    }
  };
  constexpr std::size_t kReach = 64;
  if (!in.TakeSize(goal)) {
    return std::nullopt;
  }
  behind(goal);
  if (!in.SkipTo("only reduced to", kReach) || !in.TakeSize(reached)) {
    return std::nullopt;
  }
  behind(reached);
  if (!goal || !reached) {
    return std::nullopt;
  }
  return OomRemat{.goal = *goal, .reached = *reached};
}

}  // namespace memtool::formats::oom_text
