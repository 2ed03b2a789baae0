// What HF's Trainer says of the memory of its stages (skip_memory_metrics=False): how much there
// was before it, and for each stage how much it kept, and how much more it had at its peak.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/series.h"

namespace memtool::formats::metrics {

class TrainerStages {
 public:
  // Whether `key` is one of these.
  bool Take(std::string_view key, double value);
  [[nodiscard]] bool empty() const { return memories_[0].empty() && memories_[1].empty(); }
  void GiveTo(Series& series) const;

 private:
  struct Stage {
    std::optional<double> kept;  // more than before it
    std::optional<double> peak;  // more than at its end
  };
  struct Memory {
    std::optional<double> before;
    std::map<std::string, Stage, std::less<>> stages;
    [[nodiscard]] bool empty() const { return !before && stages.empty(); }
  };

  static void Give(const Memory& memory, bool host, Series& series);

  std::array<Memory, 2> memories_;  // of devices, of the host
};

}  // namespace memtool::formats::metrics
