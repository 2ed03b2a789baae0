// Will it fit: recordings of one program at several sizes x (a batch, a context length), and what
// it would need at another one. Allocations of two of them are aligned, each gets the law by which
// it grows, the nearer recording's requests are scaled by it and sent through the allocator's
// model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "memtool/profile/align/stack_keys.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/allocator_settings.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool::whatif {

// How the size of an allocation depends on x. The exponent between two recordings decides; outside
// of these three it is interpolated by a straight line, or, growing faster, by b x + c x².
enum class Law : std::uint8_t { kConstant, kLinear, kQuadratic, kOther };
std::string_view ToName(Law law);  // "constant"

// Bytes at x: constant + linear · x + quadratic · x².
struct Growth {
  Law law = Law::kConstant;
  double constant = 0;
  double linear = 0;
  double quadratic = 0;
  // At least 1; at most 2^62.
  [[nodiscard]] std::int64_t At(double x) const;
};
// Through (x, bytes) of two recordings; of the first exactly.
Growth MakeGrowth(double x, std::int64_t bytes, double other_x, std::int64_t other_bytes);

struct FitInput {
  const HistoryIndex* index = nullptr;
  const Trace* trace = nullptr;  // of that history
  double x = 0;                  // above 0; no two are equal
};

// Whether two recordings are of the same program: only then can a third size be predicted.
struct FitGate {
  enum class Reason : std::uint8_t {
    kAccepted,
    kStructure,  // too many allocations of one have no partner in the other
    kOtherLaws,  // too many grow by none of the three laws
    kNothing,    // no allocations at all
  };
  Reason reason = Reason::kAccepted;
  std::uint64_t allocations = 0;  // of the longer one
  std::uint64_t compared = 0;     // of the longer one, without scratch that has no partner
  std::uint64_t pairs = 0;        // at most, where `exact` is false
  bool exact = true;
  std::uint64_t outside = 0;  // pairs with another law

  // Shares that are still accepted: references are in memtool-fit(1).
  static constexpr double kMinPaired = 0.99;
  static constexpr double kMaxOutside = 0.005;
  static constexpr double kMaxScratch = 0.05;  // of the allocations
  [[nodiscard]] bool accepted() const { return reason == Reason::kAccepted; }
  [[nodiscard]] double paired() const {
    return compared == 0 ? 0 : static_cast<double>(pairs) / static_cast<double>(compared);
  }
  [[nodiscard]] double outside_share() const {
    return pairs == 0 ? 0 : static_cast<double>(outside) / static_cast<double>(pairs);
  }
};
std::string_view ToName(FitGate::Reason reason);  // "structure"

// Bytes with one growth law under one stack, at the peak.
struct FitRow {
  StackId stack;  // of the recording that was scaled; may be none
  Law law = Law::kConstant;
  std::int64_t bytes = 0;
  std::int64_t recorded = 0;  // of the same allocations, in the recording that was scaled
};

// Scratch: allocations without a partner that are freed at once. Reductions and the like take some
// from a certain size on; it is the same program all the same.
struct FitScratch {
  bool near = true;  // in which of the two recordings
  StackId stack;     // of it; may be none
  std::uint64_t count = 0;
  std::int64_t largest = 0;  // bytes of one
};

struct FitPeak {
  std::int64_t live = 0;
  std::int64_t event = -1;   // of the trace that was scaled
  std::vector<FitRow> rows;  // largest first
};

// Two recordings of one program: `near` is scaled, `far` shows the laws. Inputs are kept by
// pointer.
class FittedProgram {
 public:
  // `settings`: the nearer recording's own.
  FittedProgram(const FitInput& near, const FitInput& far, const AllocatorSettings& settings,
                StackKeys& keys);

  [[nodiscard]] const FitGate& gate() const { return gate_; }
  // What is tolerated; scratch of `near` keeps its size at every x.
  [[nodiscard]] const std::vector<FitScratch>& scratch() const { return scratch_; }
  [[nodiscard]] bool has_base() const { return requests_.has_base(); }
  [[nodiscard]] const FitInput& near() const { return near_; }
  [[nodiscard]] const FitInput& far() const { return far_; }
  // Its requests at x. What was there before the recording is to be laid anew. Only of an accepted
  // program.
  [[nodiscard]] Requests At(double x) const;
  [[nodiscard]] FitPeak PeakAt(double x) const;

 private:
  void FitRequests(StackKeys& keys, const Requests& far);
  void Tolerate(std::vector<FitScratch> near, std::uint64_t ours,
                const std::vector<FitScratch>& far, std::uint64_t theirs);
  void FitBase(StackKeys& keys, const Requests& far);
  void Count();

  FitInput near_;
  FitInput far_;
  Requests requests_;
  std::vector<Growth> laws_;       // per row of requests_; of frees unused
  std::vector<Growth> base_laws_;  // per block of the base
  FitGate gate_;
  std::vector<FitScratch> scratch_;
};

// Which input to scale to x (the nearest by ratio) and which to fit the growth laws with (the one
// farthest from that). Rows of `inputs`, which has at least two.
struct FitChoice {
  std::size_t near = 0;
  std::size_t far = 0;
};
FitChoice ChooseInputs(std::span<const FitInput> inputs, double x);

}  // namespace memtool::whatif
