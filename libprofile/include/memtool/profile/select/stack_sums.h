// Sums per distinct stack, from which every analysis starts: samples are touched once, stacks once
// per analysis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memtool/profile/base/row_vector.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/value_choice.h"
#include "memtool/profile/select/view.h"

namespace memtool {

struct StackSum {
  StackId stack;
  std::uint32_t group = 0;   // label frames (View::GetGroup)
  std::int64_t value = 0;    // in the choice's unit
  std::int64_t unknown = 0;  // allocations of unknown size, not in `value`
};

struct StackSums {
  RowVector<StackSum> rows;  // stacks that have a kept sample, by (stack, group)
  // Over all samples before any filter:
  std::int64_t total = 0;
  // Σ|value|, unscaled, sizes of -1 included: what pprof calls the total
  std::int64_t total_abs = 0;
  std::int64_t unknown = 0;
  // Σ|value|, scaled: what no sum over any of the samples exceeds.
  std::int64_t magnitude = 0;
  // That, `total_abs` or `unknown` left the range of int64: some sums may be clamped to its end.
  bool saturated = false;
  bool counts_saturated = false;  // the sum of what the samples count did

  // Rows that are worth a thread of their own (SplitForThreads). All of them where sums may be
  // clamped: then the order in which they are added makes a difference.
  [[nodiscard]] std::size_t MinRowsPerThread() const {
    constexpr std::size_t kWorthAThread = std::size_t{1} << 15U;
    return saturated ? rows.size() + 1 : kWorthAThread;
  }
};

// Sums the values of the samples that `view` keeps by their labels (stacks are filtered later, when
// they are expanded). `scale` multiplies every value (normalising).
StackSums SumByStack(const View& view, const ValueChoice& choice, double scale = 1.0);

// What samples of one device hold, by their label "device".
struct DeviceSums {
  std::string device;
  StackSums sums;  // rows only
};

// Each device apart; a single one, without a name where no sample says it.
std::vector<DeviceSums> SumByDevice(const View& view, const ValueChoice& choice,
                                    double scale = 1.0);

// Per stack: 1 when a sample of it is kept and no frame filter drops it.
std::vector<char> SelectedStacks(const View& view, const StackSums& sums);

}  // namespace memtool
