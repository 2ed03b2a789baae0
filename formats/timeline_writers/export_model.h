// A history over time, in the terms of trace viewers: counters, allocations, the largest
// blocks as spans, and marks. All of it is handed out piece by piece; what is held is the replay of
// one trace and a number per allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/formats/writer.h"
#include "memtool/profile/history/groups.h"
#include "memtool/profile/model/recording.h"

namespace memtool::formats {

struct ExportCounter {
  std::string name;  // "in use", "reserved", "category Parameters"
  bool category = false;
};

struct ExportTrace {
  std::size_t number = 0;  // among those of the picture
  const Trace* trace = nullptr;
  std::string name;  // "device 0", unique
  std::vector<ExportCounter> counters;
};

// An allocation of a trace, or what was there before it.
struct ExportBlock {
  std::int64_t begin = 0;  // nanoseconds; of what was there before: the first time of the trace
  std::int64_t end = 0;    // the last time of the trace when it was never freed
  std::int64_t bytes = 0;
  std::uint64_t address = 0;
  std::optional<std::uint64_t> event{};  // of the trace; none: it was there before
  std::optional<std::uint64_t> freed{};  // likewise; none: never
  StackId stack{};                       // may be none
  LabelSetId labels{0U};
};

struct ExportMark {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool span = false;  // else it is a moment, and `end` is `begin`
  std::string_view name;
  std::int32_t device = -1;     // -1 = of all
  std::int64_t out_of = kNone;  // of an out-of-memory event: the bytes requested

  static constexpr std::int64_t kNone = INT64_MIN;
};

// Receives the exported items. Times are nanoseconds and never negative; those of a counter never
// step back.
class ExportSink {
 public:
  virtual ~ExportSink() = default;
  virtual void BeginTrace(const ExportTrace& trace) = 0;
  virtual void Counter(const ExportTrace& trace, std::size_t counter, std::int64_t time,
                       std::int64_t value) = 0;
  virtual void Allocation(const ExportTrace& trace, const ExportBlock& block) = 0;
  // Blocks of a lane do not overlap and come in order.
  virtual void Block(const ExportTrace& trace, std::size_t lane, const ExportBlock& block) = 0;
  // After all traces. Spans of a lane do not overlap and come in order; moments have lane 0.
  virtual void Mark(std::size_t lane, const ExportMark& mark) = 0;

  ExportSink() = default;
  ExportSink(const ExportSink&) = delete;
  ExportSink& operator=(const ExportSink&) = delete;
};

// Limits of the output format.
struct ExportLimits {
  std::uint64_t states = 2'000'000;       // of all counters of a trace at one time
  std::uint64_t allocations = 1'000'000;  // as events of their own; 0 = none at all
  std::size_t blocks = 200;               // per trace, the largest
  bool from_zero = false;                 // the first time is 0, whatever the file's clock says
};

// How the exported model differs from the history.
struct ExportFacts {
  std::int64_t zero = 0;           // what was subtracted from the file's times, in nanoseconds
  std::vector<std::string> notes;  // sentences about what was folded or left out
};

class ExportModel {
 public:
  // Both are kept by reference. Errors: kUnsupported without a history; kUsage for a device that
  // it does not have.
  static Result<ExportModel> Of(const Recording& recording, const WriteOptions& options,
                                const ExportLimits& limits);
  [[nodiscard]] const ExportFacts& facts() const { return facts_; }
  // The first time of any event, in nanoseconds after the zero.
  [[nodiscard]] std::int64_t start() const;
  // Errors: those of GroupAllocations.
  Result<void> Draw(ExportSink& sink) const;

 private:
  ExportModel(const Recording& recording, const WriteOptions& options, const ExportLimits& limits)
      : recording_(recording), options_(options), limits_(limits) {}
  void SetZero();
  void Fold();
  void DrawTrace(ExportSink& sink, ExportTrace& model, const AllocationGroups& groups) const;
  [[nodiscard]] std::vector<ExportMark> Marks() const;
  // The trace's out-of-memory events.
  void AddFailures(const Trace& trace, std::vector<ExportMark>& marks) const;
  void DrawMarks(ExportSink& sink) const;

  const Recording& recording_;
  const WriteOptions& options_;
  ExportLimits limits_;
  std::vector<std::size_t> traces_;  // rows of History::traces
  std::uint64_t run_ = 1;            // so many changes are drawn as one
  std::int64_t smallest_ = 0;        // allocations of fewer bytes have no event of their own
  ExportFacts facts_;
};

}  // namespace memtool::formats
