#include "memtool/profile/whatif/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "memtool/profile/align/align.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/replay/replay.h"

namespace memtool::whatif {

namespace {

// Measured on recordings of one program at three and four sizes: allocations of these kinds come
// within these distances of their exponents, others do not.
constexpr double kConstantWithin = 0.03;
constexpr double kPowerWithin = 0.06;
constexpr double kMaxByteCount = 4611686018427387904.0;  // 2^62

bool Allocates(const Request& request) {
  return request.kind == Request::Kind::kAllocate || request.kind == Request::Kind::kFailed;
}

// Rows of allocations, and the keys of their stacks.
struct Allocations {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> keys;
};

Allocations CollectAllocations(const FitInput& input, const Requests& requests, StackKeys& keys) {
  const Recording& recording = input.index->recording();
  const std::vector<std::uint32_t> of_stack = keys.Of(recording);
  const auto events = GetEvents(recording, *input.trace);
  Allocations allocations;
  for (std::uint32_t row = 0; row < requests.rows.size(); ++row) {
    if (Allocates(requests.rows[row])) {
      const StackId stack = events[requests.rows[row].event].stack;
      allocations.rows.push_back(row);
      allocations.keys.push_back(stack.valid() ? of_stack[stack.value()] : StackKeys::kNoFrames);
    }
  }
  return allocations;
}

// Freed within this many requests.
constexpr std::size_t kScratchLife = 32;

bool IsScratch(const Requests& requests, std::uint32_t row) {
  const Request& made = requests.rows[row];
  const std::size_t end = std::min(requests.rows.size(), row + kScratchLife);
  for (std::size_t i = row + 1; i < end && made.kind == Request::Kind::kAllocate; ++i) {
    if (requests.rows[i].kind == Request::Kind::kFreeCompleted &&
        requests.rows[i].tag == made.tag) {
      return true;
    }
  }
  return false;
}

// Of the allocations whose row is not `paired`, what is scratch, by stack.
std::vector<FitScratch> FindScratch(const FitInput& input, bool near, const Requests& requests,
                                    const Allocations& allocations,
                                    const std::vector<bool>& paired) {
  const auto events = GetEvents(input.index->recording(), *input.trace);
  std::map<std::uint32_t, FitScratch> by_stack;
  for (std::size_t i = 0; i < allocations.rows.size(); ++i) {
    const std::uint32_t row = allocations.rows[i];
    if (paired[i] || !IsScratch(requests, row)) {
      continue;
    }
    const StackId stack = events[requests.rows[row].event].stack;
    FitScratch& scratch = by_stack[stack.value()];
    scratch.near = near;
    scratch.stack = stack;
    ++scratch.count;
    scratch.largest = std::max(scratch.largest, requests.rows[row].size);
  }
  std::vector<FitScratch> found;
  found.reserve(by_stack.size());
  for (const auto& [stack, scratch] : by_stack) {
    found.push_back(scratch);
  }
  return found;
}

// What was there before, by key of the stack: those of a key by falling size.
std::map<std::uint32_t, std::vector<std::uint32_t>> BaseByKey(const FitInput& input,
                                                              const Requests& requests,
                                                              StackKeys& keys) {
  const std::vector<std::uint32_t> of_stack = keys.Of(input.index->recording());
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_key;
  for (std::uint32_t row = 0; row < requests.blocks.size(); ++row) {
    const BaseBlock& block = requests.blocks[row];
    if (block.laid.tag != CachingAllocator::kFreeTag) {
      by_key[block.stack.valid() ? of_stack[block.stack.value()] : StackKeys::kNoFrames].push_back(
          row);
    }
  }
  for (auto& [key, rows] : by_key) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return requests.blocks[a].requested > requests.blocks[b].requested;
    });
  }
  return by_key;
}

Growth Unchanged(std::int64_t bytes) {
  return {.law = Law::kConstant, .constant = static_cast<double>(bytes)};
}

}  // namespace

std::string_view ToName(Law law) {
  switch (law) {
    case Law::kConstant:
      return "constant";
    case Law::kLinear:
      return "linear";
    case Law::kQuadratic:
      return "quadratic";
    case Law::kOther:
      break;
  }
  return "other";
}

std::string_view ToName(FitGate::Reason reason) {
  switch (reason) {
    case FitGate::Reason::kAccepted:
      break;
    case FitGate::Reason::kStructure:
      return "structure";
    case FitGate::Reason::kOtherLaws:
      return "laws";
    case FitGate::Reason::kNothing:
      return "nothing";
  }
  return "accepted";
}

std::int64_t Growth::At(double x) const {
  const double bytes = constant + linear * x + quadratic * x * x;
  return static_cast<std::int64_t>(std::llround(std::clamp(bytes, 1.0, kMaxByteCount)));
}

Growth MakeGrowth(double x, std::int64_t bytes, double other_x, std::int64_t other_bytes) {
  const auto y = static_cast<double>(bytes);
  const auto other_y = static_cast<double>(other_bytes);
  const double power = std::log(other_y / y) / std::log(other_x / x);
  if (std::abs(power) < kConstantWithin) {
    return Unchanged(bytes);
  }
  if (std::abs(power - 1) < kPowerWithin) {
    return {.law = Law::kLinear, .linear = y / x};
  }
  if (std::abs(power - 2) < kPowerWithin) {
    return {.law = Law::kQuadratic, .quadratic = y / (x * x)};
  }
  if (power > 1) {
    const double quadratic = (other_y / other_x - y / x) / (other_x - x);
    return {.law = Law::kOther, .linear = y / x - quadratic * x, .quadratic = quadratic};
  }
  const double linear = (other_y - y) / (other_x - x);
  return {.law = Law::kOther, .constant = y - linear * x, .linear = linear};
}

FittedProgram::FittedProgram(const FitInput& near, const FitInput& far,
                             const AllocatorSettings& settings, StackKeys& keys)
    : near_(near), far_(far), requests_(CollectRequests(*near.index, *near.trace, settings)) {
  const Requests other = CollectRequests(*far.index, *far.trace, settings);
  FitRequests(keys, other);
  if (gate_.accepted()) {
    FitBase(keys, other);
    Count();
  }
}

void FittedProgram::FitRequests(StackKeys& keys, const Requests& far) {
  const Allocations ours = CollectAllocations(near_, requests_, keys);
  const Allocations theirs = CollectAllocations(far_, far, keys);
  gate_.compared = gate_.allocations = std::max(ours.keys.size(), theirs.keys.size());
  if (std::min(ours.keys.size(), theirs.keys.size()) == 0) {
    gate_.reason = FitGate::Reason::kNothing;
    return;
  }
  // Sequences that cannot pass are not aligned: it would take the longest.
  gate_.pairs = MaxPairs(ours.keys, theirs.keys);
  gate_.exact = false;
  if (gate_.paired() < FitGate::kMinPaired - FitGate::kMaxScratch) {
    gate_.reason = FitGate::Reason::kStructure;
    return;
  }
  const Alignment alignment = Align(ours.keys, theirs.keys);
  gate_.pairs = alignment.pairs;
  gate_.exact = alignment.complete;
  if (gate_.pairs < gate_.allocations) {
    std::vector<bool> paired(ours.rows.size());
    std::vector<bool> their_paired(theirs.rows.size());
    for (std::size_t i = 0; i < ours.rows.size(); ++i) {
      paired[i] = alignment.partners[i] != kNoPartner;
      if (paired[i]) {
        their_paired[alignment.partners[i]] = true;
      }
    }
    Tolerate(FindScratch(near_, true, requests_, ours, paired), ours.rows.size(),
             FindScratch(far_, false, far, theirs, their_paired), theirs.rows.size());
  }
  if (gate_.paired() < FitGate::kMinPaired) {
    gate_.reason = FitGate::Reason::kStructure;
    return;
  }
  laws_.assign(requests_.rows.size(), Growth{});
  for (std::size_t i = 0; i < ours.rows.size(); ++i) {
    const std::int64_t bytes = requests_.rows[ours.rows[i]].size;
    const std::uint32_t partner = alignment.partners[i];
    laws_[ours.rows[i]] = partner == kNoPartner ? Unchanged(bytes)
                                                : MakeGrowth(near_.x, bytes, far_.x,
                                                             far.rows[theirs.rows[partner]].size);
  }
}

void FittedProgram::Tolerate(std::vector<FitScratch> near, std::uint64_t ours,
                             const std::vector<FitScratch>& far, std::uint64_t theirs) {
  const auto count = [](const std::vector<FitScratch>& scratch) {
    std::uint64_t sum = 0;
    for (const FitScratch& one : scratch) {
      sum += one.count;
    }
    return sum;
  };
  const std::uint64_t most = std::max(count(near), count(far));
  if (static_cast<double>(most) > FitGate::kMaxScratch * static_cast<double>(gate_.allocations)) {
    return;
  }
  gate_.compared = std::max(ours - count(near), theirs - count(far));
  scratch_ = std::move(near);
  scratch_.insert(scratch_.end(), far.begin(), far.end());
}

void FittedProgram::FitBase(StackKeys& keys, const Requests& far) {
  base_laws_.reserve(requests_.blocks.size());
  for (const BaseBlock& block : requests_.blocks) {
    base_laws_.push_back(Unchanged(block.requested));
  }
  const auto theirs = BaseByKey(far_, far, keys);
  for (const auto& [key, rows] : BaseByKey(near_, requests_, keys)) {
    // Their order in time is not known. As many of one origin correspond by rank of size.
    const auto found = theirs.find(key);
    if (found == theirs.end() || found->second.size() != rows.size()) {
      continue;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      base_laws_[rows[i]] =
          MakeGrowth(near_.x, std::max<std::int64_t>(requests_.blocks[rows[i]].requested, 1),
                     far_.x, std::max<std::int64_t>(far.blocks[found->second[i]].requested, 1));
    }
  }
}

void FittedProgram::Count() {
  for (std::size_t i = 0; i < laws_.size(); ++i) {
    gate_.outside += Allocates(requests_.rows[i]) && laws_[i].law == Law::kOther ? 1 : 0;
  }
  if (gate_.outside_share() > FitGate::kMaxOutside) {
    gate_.reason = FitGate::Reason::kOtherLaws;
  }
}

Requests FittedProgram::At(double x) const {
  Requests requests = requests_;
  for (std::size_t i = 0; i < requests.rows.size(); ++i) {
    if (Allocates(requests.rows[i])) {
      requests.rows[i].size = laws_[i].At(x);
    }
  }
  requests.base_live = 0;
  for (std::size_t i = 0; i < requests.blocks.size(); ++i) {
    if (requests.blocks[i].laid.tag != CachingAllocator::kFreeTag) {
      requests.blocks[i].requested = base_laws_[i].At(x);
      requests.base_live = SaturatingAdd(requests.base_live, requests.blocks[i].requested);
    }
  }
  return requests;
}

namespace {

// Follows what is live, by tag, up to a request; gives the moment when it is most.
class LiveWalk {
 public:
  explicit LiveWalk(const Requests& requests) : sizes_(requests.tags, 0) {
    for (const BaseBlock& block : requests.blocks) {
      if (block.laid.tag != CachingAllocator::kFreeTag) {
        sizes_[block.laid.tag] = block.requested;
      }
    }
    live_ = requests.base_live;
  }
  // Of request `row`: bytes that are live after it.
  std::int64_t Send(const Request& request) {
    if (request.kind == Request::Kind::kAllocate) {
      sizes_[request.tag] = request.size;
      live_ = SaturatingAdd(live_, request.size);
    } else if (request.kind == Request::Kind::kFreeCompleted) {
      live_ = SaturatingSubtract(live_, std::exchange(sizes_[request.tag], 0));
    }
    return live_;
  }
  [[nodiscard]] std::int64_t live() const { return live_; }

  // The number of requests after which most is live.
  static std::pair<std::size_t, std::int64_t> Peak(const Requests& requests) {
    LiveWalk walk(requests);
    std::pair<std::size_t, std::int64_t> peak{0, walk.live()};
    for (std::size_t i = 0; i < requests.rows.size(); ++i) {
      const std::int64_t live = walk.Send(requests.rows[i]);
      if (live > peak.second) {
        peak = {i + 1, live};
      }
    }
    return peak;
  }

 private:
  std::vector<std::int64_t> sizes_;
  std::int64_t live_ = 0;
};

}  // namespace

FitPeak FittedProgram::PeakAt(double x) const {
  constexpr std::uint32_t kNobody = UINT32_MAX;
  const Requests scaled = At(x);
  const auto [count, live] = LiveWalk::Peak(scaled);
  FitPeak peak{.live = live,
               .event = count == 0 ? -1 : static_cast<std::int64_t>(scaled.rows[count - 1].event),
               .rows = {}};
  // Who holds each tag then: a request, or a block of the base.
  std::vector<std::uint32_t> request_of(scaled.tags, kNobody);
  std::vector<std::uint32_t> block_of(scaled.tags, kNobody);
  for (std::uint32_t i = 0; i < scaled.blocks.size(); ++i) {
    if (scaled.blocks[i].laid.tag != CachingAllocator::kFreeTag) {
      block_of[scaled.blocks[i].laid.tag] = i;
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const Request& request = scaled.rows[i];
    if (request.kind == Request::Kind::kAllocate) {
      request_of[request.tag] = i;
    } else if (request.kind == Request::Kind::kFreeCompleted) {
      request_of[request.tag] = block_of[request.tag] = kNobody;
    }
  }
  std::map<std::pair<std::uint32_t, Law>, FitRow> rows;
  const auto add = [&rows](StackId stack, Law law, std::int64_t bytes, std::int64_t recorded) {
    FitRow& row = rows[{stack.value(), law}];
    row.stack = stack;
    row.law = law;
    row.bytes = SaturatingAdd(row.bytes, bytes);
    row.recorded = SaturatingAdd(row.recorded, recorded);
  };
  const auto events = GetEvents(near_.index->recording(), *near_.trace);
  for (std::uint32_t tag = 0; tag < scaled.tags; ++tag) {
    if (const std::uint32_t i = request_of[tag]; i != kNobody) {
      add(events[scaled.rows[i].event].stack, laws_[i].law, scaled.rows[i].size,
          requests_.rows[i].size);
    } else if (const std::uint32_t block = block_of[tag]; block != kNobody) {
      add(scaled.blocks[block].stack, base_laws_[block].law, scaled.blocks[block].requested,
          requests_.blocks[block].requested);
    }
  }
  peak.rows.reserve(rows.size());
  for (const auto& [key, row] : rows) {
    peak.rows.push_back(row);
  }
  std::stable_sort(peak.rows.begin(), peak.rows.end(),
                   [](const FitRow& a, const FitRow& b) { return a.bytes > b.bytes; });
  return peak;
}

FitChoice ChooseInputs(std::span<const FitInput> inputs, double x) {
  const auto distance = [](double a, double b) { return std::abs(std::log(a / b)); };
  FitChoice choice;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (distance(inputs[i].x, x) < distance(inputs[choice.near].x, x)) {
      choice.near = i;
    }
  }
  choice.far = choice.near;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (distance(inputs[i].x, inputs[choice.near].x) >
        distance(inputs[choice.far].x, inputs[choice.near].x)) {
      choice.far = i;
    }
  }
  return choice;
}

}  // namespace memtool::whatif
