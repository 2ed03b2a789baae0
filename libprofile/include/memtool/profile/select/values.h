// Which numbers of a profile an analysis sums, and the sums per distinct stack that every analysis
// starts from: samples are touched once, stacks once per analysis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/filter.h"

namespace memtool {

// One sample type of one recording.
struct ValueChoice {
  std::size_t type = 0;                   // index into Profile::types
  std::optional<std::size_t> count_type;  // the allocations that belong to it, when there are any
  Role role = Role::kOther;
  std::string name;  // "space"
  std::string unit;  // "bytes"
};

// `wanted`: a type's name, its number from 0, or empty for the default: the file's own default when
// that is bytes, else the last type in bytes, else the last. "inuse_X" also finds "X" (pprof's
// rule). Errors: kUsage, naming the types there are; kUnsupported when there is no profile.
Result<ValueChoice> ChooseValue(const Recording& recording, std::string_view wanted);
// The type of `recording` that fits a choice made on another input: same name, else same role.
Result<ValueChoice> MatchValue(const Recording& recording, const ValueChoice& other);

// a + b without overflow; sticks at the ends of int64.
std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b);
// a - b, likewise; also for a b that has no negative.
std::int64_t SaturatingSubtract(std::int64_t a, std::int64_t b);
// |value|; the largest int64 for the smallest.
std::int64_t Magnitude(std::int64_t value);
// value · factor, rounded; sticks at the ends of int64.
std::int64_t Scaled(std::int64_t value, double factor);

// One sample as analyses count it.
struct SampleValue {
  StackId stack;
  LabelSetId labels;
  std::int64_t value = 0;    // 0 when the size is unknown
  std::int64_t raw = 0;      // as the file has it
  std::int64_t unknown = 0;  // allocations of unknown size
  std::int64_t count = 0;    // allocations; 0 when the input does not count
};

// Calls visit(SampleValue) for every sample, in order.
template <class Visit>
void ForEachSample(const Profile& profile, const ValueChoice& choice, Visit visit) {
  const auto& values = profile.values[choice.type];
  const std::vector<std::int64_t>* counts =
      choice.count_type ? &profile.values[*choice.count_type] : nullptr;
  auto next_unknown = profile.unknown_size.begin();
  for (std::uint32_t i = 0; i < profile.size(); ++i) {
    SampleValue sample{.stack = profile.stacks[i],
                       .labels = profile.label_sets[i],
                       .value = values[i],
                       .raw = values[i],
                       .count = counts != nullptr ? (*counts)[i] : 0};
    if (next_unknown != profile.unknown_size.end() && *next_unknown == i) {
      ++next_unknown;
      if (choice.role == Role::kBytes) {
        sample.value = 0;
        sample.unknown = sample.count;
      }
    }
    visit(sample);
  }
}

struct StackSum {
  StackId stack;
  std::uint32_t group = 0;   // label frames (View::GroupOf)
  std::int64_t value = 0;    // in the choice's unit
  std::int64_t unknown = 0;  // allocations of unknown size, not in `value`
};

struct StackSums {
  std::vector<StackSum> rows;  // stacks that have a kept sample, by (stack, group)
  // Over all samples before any filter:
  std::int64_t total = 0;
  std::int64_t total_abs = 0;  // Σ|value|, sizes of -1 included: what pprof calls the total
  std::int64_t unknown = 0;
  bool saturated = false;  // a sum left the range of int64
};

// Sums the values of the samples that `view` keeps by their labels (stacks are filtered later, when
// they are expanded). `scale` multiplies every value (normalising).
StackSums SumByStack(const View& view, const ValueChoice& choice, double scale = 1.0);

// Per stack: 1 when a sample of it is kept and no frame filter drops it.
std::vector<char> KeptStacks(const View& view, const StackSums& sums);

}  // namespace memtool
