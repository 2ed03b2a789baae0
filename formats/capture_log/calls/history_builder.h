// Collects events: one trace for each device, one for the host and one for each of the program's
// own allocators, with their domains, streams, labels, marks and mapped address ranges.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capture_log/calls/allocation.h"
#include "capture_log/calls/call.h"
#include "capture_log/log/definitions.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::capture_log {

class StackMaker;

class HistoryBuilder {
 public:
  // `start_unix`: time 0 of the log, in ns since 1970.
  HistoryBuilder(RecordingBuilder& builder, const Definitions& definitions, std::int64_t start_unix)
      : builder_(builder), definitions_(definitions), start_unix_(start_unix) {}

  // Throws ReadError (kLimit) where there are more events, domains or streams than a history has
  // numbers for.
  EventPlace Add(const Call& call, const AttributesRow& attributes, const DomainRow& domain,
                 Action action);
  // The event that ends the allocation of `opened`.
  EventPlace AddEnd(const Call& call, EventPlace opened, Action action);
  // The driver refused what the event says: it moved no memory.
  void Refuse(EventPlace place) { At(place).event.action = Action::kOther; }

  void AddMark(const Call& call, const std::string& name, std::int64_t value);

  // Where the memory of an allocation lies, from `call` on. Returns the number of the range.
  std::size_t OpenRange(const Call& call, EventPlace allocated, std::uint64_t address,
                        std::uint64_t size);
  void CloseRange(const Call& call, std::size_t range);
  void ReopenRange(std::size_t range);

  // By how much a peak may be too low because the order of records need not be that of calls: the
  // largest call of each thread, of the trace where that is most. Nothing where one thread is
  // alone.
  struct InFlight {
    std::uint64_t threads = 0;
    std::int64_t bytes = 0;
  };
  [[nodiscard]] InFlight GetInFlight() const;

  // Once, at the end.
  History Finish(StackMaker& stacks);

 private:
  struct Row {
    Event event;
    std::uint64_t stack = 0;  // of the log
    LabelSetId labels;
  };
  struct KnownLabels {
    LabelSetId labels;
    std::uint8_t domain = 0;  // a reused pool's handle may stand for another one
  };
  // What one call of a thread allocated or freed.
  struct ThreadCall {
    std::uint64_t time = 0;
    std::int64_t bytes = 0;
    std::int64_t largest = 0;
  };
  struct TraceRows {
    std::string name;
    std::int32_t device = -1;
    DomainLevel level = DomainLevel::kDriver;
    std::vector<Row> rows;
    KeyMap<std::uint64_t, ThreadCall> calls;  // by thread
    DomainId first_domain;
  };
  struct Range {
    EventPlace allocated;
    AddressRange range;
  };

  std::uint32_t GetTrace(const DomainRow& domain);
  std::uint8_t DomainIndex(const DomainRow& domain, std::uint32_t trace);
  std::uint16_t StreamIndex(std::uint64_t stream);
  LabelSetId Labels(const Call& call, const AttributesRow& attributes, const DomainRow& domain,
                    std::uint8_t index);
  EventPlace Append(std::uint32_t trace, const Row& row);
  void CountBytes(const Call& call, const AttributesRow* attributes, EventPlace place);
  Row& At(EventPlace place) { return traces_[place.trace].rows[place.row]; }
  [[nodiscard]] std::int64_t GetTime(const Call& call) const;

  RecordingBuilder& builder_;
  const Definitions& definitions_;
  std::int64_t start_unix_;
  std::vector<TraceRows> traces_;
  std::map<std::string, std::uint32_t> trace_index_;
  std::vector<MemoryDomain> domains_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint8_t> domain_index_;  // by trace and name
  std::vector<std::uint64_t> streams_{0};
  KeyMap<std::uint64_t, std::uint16_t> stream_index_{{0, 0}};
  KeyMap<std::uint64_t, KnownLabels> label_index_;  // by attribute set
  std::vector<Mark> marks_;
  std::vector<Range> ranges_;
};

}  // namespace memtool::formats::capture_log
