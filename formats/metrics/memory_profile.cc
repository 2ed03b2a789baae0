#include "metrics/memory_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace memtool::formats::metrics {

namespace {

using Where = MemoryProfile::Where;

constexpr std::size_t kMaxPoints = 400'000;

struct Way {
  Where from = Where::kElsewhere;
  std::string_view key;  // empty: any
  Where to = Where::kElsewhere;
};

constexpr std::array<Way, 8> kWays = {
    {{Where::kRoot, "memoryProfilePerAllocator", Where::kAllocators},
     {Where::kAllocators, "", Where::kAllocator},
     {Where::kAllocator, "profileSummary", Where::kSummary},
     {Where::kAllocator, "memoryProfileSnapshots", Where::kAll},
     {Where::kAllocator, "sampledTimelineSnapshots", Where::kSampled},
     {Where::kAll, "", Where::kMoment},
     {Where::kSampled, "", Where::kMoment},
     {Where::kMoment, "aggregationStats", Where::kStats}}};

}  // namespace

Where MemoryProfile::Below(Where where, std::string_view key) {
  const auto* way = std::find_if(kWays.begin(), kWays.end(), [&](const Way& each) {
    return each.from == where && (each.key.empty() || each.key == key);
  });
  return way == kWays.end() ? Where::kElsewhere : way->to;
}

void MemoryProfile::Start(Where where, std::string_view key) {
  if (where == Where::kAllocator) {
    allocator_ = key;
    capacity_ = peak_ = 0;
    all_.clear();
    sampled_.clear();
  } else if (where == Where::kAll || where == Where::kSampled) {
    in_sampled_ = where == Where::kSampled;
  } else if (where == Where::kMoment) {
    point_ = {};
  }
}

void MemoryProfile::Take(Where where, std::string_view key, double value) {
  constexpr double kPicosPerNano = 1000;
  constexpr double kLast = 9e21;
  if (where == Where::kMoment && key == "timeOffsetPs" && value >= 0 && value < kLast) {
    point_.time = std::llround(value / kPicosPerNano);
  } else if (where == Where::kStats &&
             (key == "stackReservedBytes" || key == "heapAllocatedBytes")) {
    point_.held += value;
  } else if (where == Where::kSummary && key == "memoryCapacity") {
    capacity_ = value;
  } else if (where == Where::kSummary && key == "peakBytesUsageLifetime") {
    peak_ = value;
  }
}

void MemoryProfile::End(Where where, Series& series) {
  if (where == Where::kMoment) {
    std::vector<Point>& points = in_sampled_ ? sampled_ : all_;
    if (points.size() < kMaxPoints) {
      points.push_back(point_);
    }
  } else if (where == Where::kAllocator) {
    Give(series);
  }
}

// The list for the picture is of the whole trace; the other one, since it is there, only of what
// lived at the peak.
void MemoryProfile::Give(Series& series) {
  std::vector<Point>& points = sampled_.empty() ? all_ : sampled_;
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.time < b.time; });
  const auto tag = [this](std::string_view what) {
    return "memory_profile/" + allocator_ + "/" + std::string(what);
  };
  Moment moment{.place = series.NextPlace(), .step = {}};
  if (capacity_ > 0) {
    series.Add(moment, tag("bytes_limit"), {capacity_, 0});
  }
  if (peak_ > 0) {
    series.Add(moment, tag("peak_bytes_in_use"), {peak_, 0});
  }
  const std::string in_use = tag("bytes_in_use");
  for (const Point& point : points) {
    moment = {.place = series.NextPlace(), .time = point.time, .step = {}};
    series.Add(moment, in_use, {point.held, 0});
  }
}

}  // namespace memtool::formats::metrics
