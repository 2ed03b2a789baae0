// What one allocator of one device handed out, from a table with a row per tensor: its allocations
// and releases in the order of their times, beside the allocator's own totals after each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "memtool/profile/base/row_vector.h"
#include "memtool/profile/model/history.h"

namespace memtool::formats::ascend {

// What the allocator counted after a change; kUnsaid where the row does not say.
inline constexpr std::int64_t kUnsaid = -1;
struct Totals {
  std::int64_t allocated = kUnsaid;
  std::int64_t reserved = kUnsaid;
};

struct Tensor {
  std::int64_t size = 0;
  std::optional<std::int64_t> allocated_at{};  // none: before the recording
  std::optional<std::int64_t> released_at{};   // by the program; none: not in the recording
  std::optional<std::int64_t> reusable_at{};   // when no stream uses it any more
  Totals after_allocation{};
  Totals after_release{};
  StackId stack;
  std::uint16_t stream = 0;
  std::uint64_t address = 0;  // 0: its row stands for it
};

// A row of a table of tensors, as far as it is filled.
struct TensorRow {
  std::int64_t size = 0;  // below 0: a release whose allocation is not in the recording
  std::optional<std::int64_t> allocated_at{};
  std::optional<std::int64_t> released_at{};
  std::optional<std::int64_t> reusable_at{};
  std::optional<std::int64_t> duration{};
  Totals after_allocation{};
  Totals after_release{};
};
// None for a row without times, or that ends before it begins.
std::optional<Tensor> ToTensor(const TensorRow& row);

// The allocator's totals against the sum of the changes. Changes of one time come in no order that
// is known, so that a total is compared after all of them; any of those that the allocator counted
// meanwhile may be the last.
class TotalsCheck {
 public:
  void Add(std::int64_t change, std::int64_t counted);
  // All changes of a time have come. Returns by how much more the total changed than they say.
  std::int64_t EndMoment();

  // What was there before the first change.
  [[nodiscard]] std::int64_t base() const { return base_; }
  [[nodiscard]] std::uint64_t checked() const { return checked_; }
  [[nodiscard]] std::uint64_t agreeing() const { return agreeing_; }

 private:
  std::int64_t change_ = 0;   // of the moment
  std::int64_t changed_ = 0;  // since the first change
  std::vector<std::int64_t> counted_;
  std::optional<std::int64_t> total_;
  std::int64_t base_ = 0;
  std::uint64_t checked_ = 0;
  std::uint64_t agreeing_ = 0;
};

// Rows come in the order of their allocations as a rule: then only what has not ended yet waits. In
// any other order the events are sorted, and no total is compared.
class TensorLedger {
 public:
  // `row`: its number, unique in the history. `tensor` has one time at least, and none is before
  // its allocation.
  void Add(std::uint32_t row, const Tensor& tensor);

  // Appends the events to `history` and fills `trace` but for its names and domains. Once, after
  // all rows.
  void MoveTo(History& history, Trace& trace, std::uint8_t domain);

  // Known after MoveTo. Moments at which the allocator's total changed by more or less than the
  // rows say, and which the events follow.
  [[nodiscard]] std::uint64_t gaps() const { return gaps_; }
  [[nodiscard]] bool sorted() const { return sorted_; }
  // More was live than reserved.
  [[nodiscard]] bool reserved_below_live() const { return reserved_below_live_; }

 private:
  struct Change {
    std::int64_t time = 0;
    std::int64_t size = 0;
    Totals after;
    std::uint64_t key = 0;
    std::uint32_t row = 0;
    StackId stack;
    std::uint16_t stream = 0;
    Action action = Action::kOther;
    bool at_once = false;   // ends what began at the same time
    bool released = false;  // the allocator's count has fallen before: a stream still used it
  };
  struct Later {
    bool operator()(const Change& a, const Change& b) const;
  };

  static std::int64_t CountedChange(const Change& change);
  void AddEnds(const Change& begin, const Tensor& tensor);
  void Pass(std::int64_t time, bool all_of_it);
  void Emit(const Change& change);
  void EndMoment();
  void Reserve(std::int64_t reserved);
  void Push(const Event& event) { events_.push_back(event); }
  void SortEvents();
  void Drop(Action first, Action last);

  RowVector<Event> events_;  // Event::domain: whether it ends what began at the same time
  std::priority_queue<Change, std::vector<Change>, Later> waiting_;
  TotalsCheck check_;
  std::int64_t time_ = kNoTime;  // of the last change
  std::int64_t live_ = 0;        // without what was there before
  std::int64_t reserved_ = kUnsaid;
  std::int64_t first_reserved_ = kUnsaid;
  std::int64_t most_above_reserved_ = INT64_MIN;  // of `live_`
  std::int64_t freed_before_ = 0;                 // of what was there before, as far as rows tell
  std::uint64_t gaps_ = 0;
  bool sorted_ = true;
  bool reserved_below_live_ = false;
};

}  // namespace memtool::formats::ascend
