// What the driver's calls mean for memory: which allocation a free ends, when the physical memory
// of a handle goes, what a context takes with it. Calls come in, events of one history per device
// go out.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture_log/definitions.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::capture_log {

// One event record, with the ids of the log.
struct Call {
  std::uint64_t time = 0;  // ns after time 0
  std::uint64_t lane = 0;
  std::uint64_t key = 0;
  std::int64_t size = 0;
  std::uint64_t stack = 0;
  bool estimated = false;
  std::array<std::uint64_t, 4> numbers{};  // of the rarer records, in their order
};

// What the log says about the program, beside its memory.
struct Counts {
  std::uint64_t unknown_frees = 0;  // of memory that the log did not see allocated
  std::uint64_t refused_frees = 0;  // the driver said no
  std::uint64_t failed_calls = 0;   // allocations refused for other reasons than memory
  std::uint64_t estimated = 0;      // arrays: the size was worked out
  std::uint64_t imports = 0;        // memory of other processes
  std::uint64_t unknown_lanes = 0;  // events whose definitions were lost
  std::uint64_t ended_contexts = 0;
  std::uint64_t graph_nodes = 0;  // allocations in graphs: taken by launches, not by the call
  std::uint64_t graph_bytes = 0;  // of them
  std::uint64_t reopened = 0;     // allocations at an address that was live
};

class Books {
 public:
  Books(RecordingBuilder& builder, const Definitions& definitions, std::int64_t start_unix);

  void Alloc(const Call& call);
  void Free(const Call& call);
  void Mark(const Call& call, const std::string& name, std::int64_t value);
  // numbers: operation, pointer, size.
  void GraphNode(const Call& call);
  void Other(wire::Tag tag, const Call& call);

  [[nodiscard]] const Counts& counts() const { return counts_; }
  // Stacks as the events name them: `stack_of` gives the builder's id of a stack of the log.
  template <class StackOf>
  History Finish(StackOf stack_of);

 private:
  struct Row {
    Event event;
    std::uint64_t stack = 0;  // of the log
    LabelSetId labels;
  };
  struct Book {  // one trace
    std::string name;
    std::int32_t device = -1;
    LedgerLevel level = LedgerLevel::kDriver;
    std::vector<Row> rows;
    LedgerId first_ledger;
  };
  struct Place {
    std::uint32_t book = 0;
    std::uint32_t row = 0;
  };
  struct Live {
    Place place;
    std::uint64_t context = 0;
    bool imported = false;
  };
  using Key = std::pair<wire::Space, std::uint64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return static_cast<std::size_t>(
          (key.second ^ static_cast<std::uint64_t>(key.first) << 56U) * 0x9e3779b97f4a7c15U >> 7U);
    }
  };
  struct Handle {
    Live live;
    std::uint64_t value = 0;
    std::int64_t references = 1;
    std::int64_t mappings = 0;
    bool gone = false;
  };
  struct MapRow {
    std::uint64_t size = 0;
    std::size_t handle = 0;
    std::size_t range = 0;  // row of ranges_
  };
  struct Range {
    Place place;
    AddressRange range;
  };
  struct Ended {
    Key key;
    Live live;
    Place row;  // of the event that says so; imported memory has none
  };
  // What the last free of a thread did, to take it back when the driver refused it.
  struct Undo {
    wire::Space space = wire::Space::kDevicePointer;
    std::uint64_t key = 0;
    bool known = false;
    bool of_graph = false;
    Live live;
    Place freed;
    bool has_row = false;
    std::vector<std::pair<std::uint64_t, MapRow>> mappings;
    std::vector<std::pair<std::size_t, Place>> handles;  // that went, with the event that says so
    std::size_t handle = 0;
    bool of_context = false;
    std::vector<Ended> ended;  // that went with a context
  };

  const LaneRow* Lane(const Call& call);
  const LedgerRow* LedgerOf(const LaneRow& lane);
  // The ledger on the device of the lane's pool: the current device may be another. `moved` keeps
  // it.
  const LedgerRow* OnPoolDevice(const LaneRow& lane, const LedgerRow* ledger, LedgerRow& moved);
  std::uint32_t BookOf(const LedgerRow& ledger);
  std::uint8_t LedgerIndex(const LedgerRow& ledger, std::uint32_t book);
  std::uint16_t StreamIndex(std::uint64_t stream);
  LabelSetId Labels(const Call& call, const LaneRow& lane, const LedgerRow& ledger);
  Place Add(const Call& call, const LaneRow& lane, const LedgerRow& ledger, Action action);
  // The event that ends what was allocated at `place`.
  Place AddEnd(const Call& call, Place place, Action action);
  Row& At(Place place) { return books_[place.book].rows[place.row]; }
  void Failed(const Call& call);
  void FreeFailed(const Call& call);
  void Release(const Call& call);
  void Unmap(const Call& call);
  void Import(const Call& call);
  void ContextEnd(const Call& call);
  void Map(const Call& call);
  void TakeBackHandles(const Undo& undo);
  void TakeBackContext(const Undo& undo);
  [[nodiscard]] std::int64_t TimeOf(const Call& call) const;
  bool DropHandle(const Call& call, std::size_t handle, Undo& undo);

  RecordingBuilder& builder_;
  const Definitions& definitions_;
  std::int64_t start_unix_;
  Counts counts_;
  std::vector<Book> books_;
  std::map<std::string, std::uint32_t> book_index_;
  std::vector<Ledger> ledgers_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint8_t> ledger_index_;
  std::unordered_map<Key, Live, KeyHash> live_;
  std::vector<Handle> handles_;
  std::unordered_map<std::uint64_t, std::size_t> handle_of_;
  std::map<std::uint64_t, MapRow> mapped_;
  std::vector<Range> ranges_;
  std::unordered_set<std::uint64_t> graph_pointers_;  // may be freed outside of their graph
  std::unordered_map<std::uint64_t, Undo> undo_;      // by thread
  std::unordered_map<std::uint64_t, std::int32_t> pool_devices_;
  std::vector<std::uint64_t> streams_{0};
  std::unordered_map<std::uint64_t, std::uint16_t> stream_index_{{0, 0}};
  std::unordered_map<std::uint64_t, LabelSetId> label_index_;  // by lane
  std::unordered_map<std::uint64_t, std::uint64_t> key_in_use_;
  std::vector<memtool::Mark> marks_;
};

template <class StackOf>
History Books::Finish(StackOf stack_of) {
  History history;
  history.clock = Clock::kUnix;
  history.ledgers = std::move(ledgers_);
  history.streams = std::move(streams_);
  history.marks = std::move(marks_);
  // By level, then device; the host last.
  std::map<std::pair<int, std::pair<std::int64_t, std::string>>, Book*> order;
  for (Book& book : books_) {
    const std::int64_t device = book.device < 0 ? INT64_MAX : book.device;
    order[{static_cast<int>(book.level), {device, book.name}}] = &book;
  }
  std::vector<std::uint64_t> first_event(books_.size());
  for (auto& [key, book] : order) {
    first_event[static_cast<std::size_t>(book - books_.data())] = history.events.size();
    history.traces.push_back({.device = book->device,
                              .name = book->name,
                              .first_event = history.events.size(),
                              .event_count = book->rows.size(),
                              .blocks = book->first_ledger,
                              .segments = book->first_ledger});
    for (const Row& row : book->rows) {
      history.events.push_back(row.event);
      history.events.back().stack = stack_of(row.stack);
      history.labels.push_back(row.labels);
    }
    book->rows = {};
  }
  for (const Range& range : ranges_) {
    history.mapped.push_back(range.range);
    history.mapped.back().event = first_event[range.place.book] + range.place.row;
  }
  return history;
}

}  // namespace memtool::formats::capture_log
