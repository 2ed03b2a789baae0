// What the driver's calls mean for memory. Calls come in, in the order of the log; events of one
// history per device go out to a HistoryBuilder.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "../../../capture/wire.h"
#include "capture_log/calls/attribution.h"
#include "capture_log/calls/call.h"
#include "capture_log/calls/handle_table.h"
#include "capture_log/calls/history_builder.h"
#include "capture_log/calls/pointer_table.h"
#include "memtool/profile/base/key_hash.h"

namespace memtool::formats::capture_log {

class CallInterpreter {
 public:
  CallInterpreter(const Definitions& definitions, HistoryBuilder& history)
      : history_(history), attribution_(definitions), pointers_(history), handles_(history) {}

  void Alloc(const Call& call);
  void Free(const Call& call);
  void Mark(const Call& call, const std::string& name, std::int64_t value);
  // A record of another tag; its numbers as FORMAT.md lists them.
  void Other(wire::Tag tag, const Call& call);

  [[nodiscard]] CallCounts counts() const;

 private:
  // What the last free of a thread did, to be taken back when the driver refused it.
  struct NothingKnown {};       // of memory that the log did not see allocated
  struct AddressesReleased {};  // no memory moved
  struct GraphPointerFreed {};
  using ContextEnded = std::vector<PointerTable::Ended>;
  using Effect = std::variant<NothingKnown, AddressesReleased, GraphPointerFreed,
                              PointerTable::Ended, HandleTable::Ended, ContextEnded>;
  struct LastFree {
    std::uint64_t key = 0;
    Effect effect;
  };

  void Failed(const Call& call);
  void FreeFailed(const Call& call);
  void Release(const Call& call);
  void Unmap(const Call& call);
  void Unreserve(const Call& call);
  void Import(const Call& call);
  void ContextEnd(const Call& call);
  void Pool(const Call& call);
  void GraphNode(const Call& call);
  void TakeBack(const LastFree& last);

  HistoryBuilder& history_;
  Attribution attribution_;
  PointerTable pointers_;
  HandleTable handles_;
  KeySet<std::uint64_t> graph_pointers_;       // may be freed outside their graph
  KeyMap<std::uint64_t, LastFree> last_free_;  // by thread
  CallCounts counts_;
};

}  // namespace memtool::formats::capture_log
