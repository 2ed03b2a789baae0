#include "memtool/profile/growth/row_parts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

// Fewer points leave it to chance which lines rise.
constexpr std::size_t kPointsToTellLines = 5;
// What moves less than this share of what moves most says nothing about a row.
constexpr std::int64_t kMinShare = 100;

enum class Course : std::uint8_t { kStill, kNoise, kGoesOn, kFreed, kSteps, kLate, kFalls };
constexpr std::uint32_t Bit(Course course) {
  return 1U << static_cast<std::uint32_t>(course);
}

struct Part {
  const RowPart* part = nullptr;
  Course course = Course::kStill;
  std::int64_t move = 0;  // between the lowest and the highest point
};
using Parts = std::vector<Part>;

Retained CountKept(std::span<const std::int64_t> kept) {
  Retained all;
  const std::size_t early = kept.size() - kept.size() / 3;
  for (std::size_t step = 0; step < kept.size(); ++step) {
    all.bytes = SaturatingAdd(all.bytes, kept[step]);
    all.steps += kept[step] != 0 ? 1 : 0;
    all.early_steps += kept[step] != 0 && step < early ? 1 : 0;
  }
  return all;
}

Course GetCourse(const RowPart& part) {
  const auto retained =
      part.kept.empty() ? std::nullopt : std::optional<Retained>(CountKept(part.kept));
  const Growth growth = JudgeGrowth(part.row.series, retained);
  switch (growth.evidence) {
    case GrowthEvidence::kFreed:
      return Course::kFreed;
    case GrowthEvidence::kStrong:
      return Course::kGoesOn;
    case GrowthEvidence::kWeak:
      // Of many lines that rise and fall, some rise by chance.
      return growth.kind == GrowthKind::kNoisy ? Course::kNoise : Course::kGoesOn;
    case GrowthEvidence::kNone:
      break;
  }
  return growth.kind == GrowthKind::kConstant      ? Course::kStill
         : growth.kind == GrowthKind::kShrinking   ? Course::kFalls
         : growth.detail == GrowthDetail::kFalling ? Course::kFalls
         : growth.detail == GrowthDetail::kLate    ? Course::kLate
         : growth.kind == GrowthKind::kStepwise    ? Course::kSteps
                                                   : Course::kNoise;
}

Part LookAt(const RowPart& part) {
  const auto [low, high] = std::minmax_element(part.row.series.begin(), part.row.series.end());
  return {&part, GetCourse(part), SaturatingSubtract(*high, *low)};
}

// Whether a sum says what the parts do.
bool AreAlike(const Parts& parts) {
  std::int64_t most = 0;
  for (const Part& part : parts) {
    most = std::max(most, part.move);
  }
  std::uint32_t courses = 0;
  for (const Part& part : parts) {
    courses |= part.move > 0 && part.move >= most / kMinShare ? Bit(part.course) : 0;
  }
  const bool goes_on = (courses & (Bit(Course::kGoesOn) | Bit(Course::kLate))) != 0;
  if (parts.front().part->row.series.size() < kPointsToTellLines) {
    return !goes_on || (courses & Bit(Course::kFalls)) == 0;
  }
  courses &= ~Bit(Course::kStill);
  // Ups and downs hide what goes on, but nothing else.
  courses &= goes_on ? ~0U : ~Bit(Course::kNoise);
  return (courses & (courses - 1)) == 0;
}

auto LineOf(const Part& part) {
  return std::pair(part.part->row.file, part.part->row.line);
}

template <class Key>
std::vector<Parts> GroupBy(const Parts& parts, Key key) {
  std::map<decltype(key(parts.front())), std::size_t> index;
  std::vector<Parts> groups;
  for (const Part& part : parts) {
    const auto [at, added] = index.emplace(key(part), groups.size());
    if (added) {
      groups.emplace_back();
    }
    groups[at->second].push_back(part);
  }
  return groups;
}

std::vector<Parts> ByDevice(const Parts& parts) {
  return GroupBy(parts, [](const Part& part) { return part.part->device; });
}

// Parts that do alike, together.
std::vector<Parts> SetApart(Parts parts) {
  if (AreAlike(parts)) {
    return {std::move(parts)};
  }
  std::vector<Parts> by_line = GroupBy(parts, LineOf);
  if (std::all_of(by_line.begin(), by_line.end(), AreAlike)) {
    return by_line;
  }
  std::vector<Parts> apart;
  for (Parts& of_device : ByDevice(parts)) {
    std::vector<Parts> lines =
        AreAlike(of_device) ? std::vector<Parts>{std::move(of_device)} : GroupBy(of_device, LineOf);
    std::move(lines.begin(), lines.end(), std::back_inserter(apart));
  }
  return apart;
}

bool OneDeviceMoves(const Parts& parts) {
  const Part* moves = nullptr;
  for (const Part& part : parts) {
    if (part.move != 0 && moves != nullptr && moves->part->device != part.part->device) {
      return false;
    }
    moves = part.move != 0 ? &part : moves;
  }
  return moves != nullptr;
}

GrowthRow Join(const Parts& parts) {
  GrowthRow row;
  std::vector<std::int64_t> kept;
  for (const Part& part : parts) {
    AddTo(row.series, part.part->row.series);
    AddTo(row.unknown, part.part->row.unknown);
    AddTo(kept, part.part->kept);
  }
  if (!kept.empty()) {
    row.retained = CountKept(kept);
  }
  const std::int64_t rise = SaturatingSubtract(row.series.back(), row.series.front());
  const auto rank = [rise](const GrowthRow& line) {
    const std::int64_t own = SaturatingSubtract(line.series.back(), line.series.front());
    const std::int64_t along = rise > 0 ? own : rise < 0 ? SaturatingSubtract(0, own) : 0;
    std::int64_t all = 0;
    for (const std::int64_t value : line.series) {
      all = SaturatingAdd(all, value);
    }
    return std::tuple(along, line.series.back(), all);
  };
  GrowthRow best;
  std::int64_t lines = 0;
  for (const Parts& of_line : GroupBy(parts, LineOf)) {
    GrowthRow line = of_line.front().part->row;
    for (std::size_t i = 1; i < of_line.size(); ++i) {
      AddTo(line.series, of_line[i].part->row.series);
    }
    lines += std::any_of(line.series.begin(), line.series.end(), [](auto v) { return v != 0; });
    if (best.series.empty() || rank(line) > rank(best)) {
      best = std::move(line);
    }
  }
  row.name = best.name;
  row.file = best.file;
  row.line = best.line;
  row.via = best.via;
  row.more_lines = std::max(lines - 1, best.more_lines);
  return row;
}

}  // namespace

void AddTo(std::vector<std::int64_t>& sums, const std::vector<std::int64_t>& values) {
  sums.resize(std::max(sums.size(), values.size()));
  std::transform(values.begin(), values.end(), sums.begin(), sums.begin(), SaturatingAdd);
}

KeyMap<NodeId, NodeId> RowsOfLines(const Recording& recording, Granularity granularity,
                                   NodeSpace& space) {
  const std::vector<NodeId> lines = space.OfLines(recording, Granularity::kLine);
  const std::vector<NodeId> rows = space.OfLines(recording, granularity);
  KeyMap<NodeId, NodeId> row_of;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    row_of.try_emplace(lines[i], rows[i]);
  }
  return row_of;
}

std::vector<GrowthRow> JoinParts(const std::vector<RowPart>& parts,
                                 std::span<const SharedText> devices) {
  std::vector<GrowthRow> rows;
  Parts all;
  for (const RowPart& part : parts) {
    all.push_back(LookAt(part));
  }
  for (Parts& row : GroupBy(all, [](const Part& part) { return part.part->group; })) {
    for (Parts& alike : SetApart(std::move(row))) {
      for (const Parts& shown :
           OneDeviceMoves(alike) ? ByDevice(alike) : std::vector<Parts>{alike}) {
        rows.push_back(Join(shown));
        if (devices.size() > 1 && OneDeviceMoves(shown)) {
          rows.back().device = devices[shown.front().part->device];
        }
      }
    }
  }
  return rows;
}

}  // namespace memtool
