// The memory_profile.json of xprof and TensorFlow's profiler, as its parts come along: for each
// allocator at most 1,000 moments of a trace, the highest of each piece of time, and a summary.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/series.h"

namespace memtool::formats::metrics {

class MemoryProfile {
 public:
  // Where in the document a value stands.
  enum class Where : std::uint8_t {
    kElsewhere,
    kRoot,
    kAllocators,  // by name
    kAllocator,
    kSummary,
    kAll,      // a list of moments
    kSampled,  // the list for the picture
    kMoment,
    kStats
  };

  // Of the value under `key` of an object, or in a list, where `key` is empty.
  static Where Below(Where where, std::string_view key);

  void Start(Where where, std::string_view key);
  void Take(Where where, std::string_view key, double value);
  // An object or a list ends.
  void End(Where where, Series& series);

 private:
  struct Point {
    std::int64_t time = kNoTime;
    double held = 0;
  };

  void Give(Series& series);
  static void TakeSummary(std::string_view key, double value, double& capacity, double& peak);

  std::string allocator_;
  double capacity_ = 0;
  double peak_ = 0;
  std::vector<Point> all_;
  std::vector<Point> sampled_;
  Point point_;
  bool in_sampled_ = false;
};

}  // namespace memtool::formats::metrics
