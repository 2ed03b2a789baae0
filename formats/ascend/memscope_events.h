// The calls that msMemScope records, as a history: of the driver (HAL), and of the allocators above
// it (PTA, MindSpore, ATB ...), each a ledger of its own in each process and on each device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ascend/memscope_rows.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/row_vector.h"
#include "memtool/profile/model/recording_builder.h"
#include "support/byte_interner.h"
#include "support/code_stacks.h"

namespace memtool::formats::ascend {

class MemscopeEvents {
 public:
  MemscopeEvents(RecordingBuilder& builder, const Limits& limits)
      : builder_(builder), limits_(limits) {}

  // In any order. False for a row that cannot be. Throws ReadError past a limit.
  bool Add(const MemscopeRow& row);
  // Gives the builder its history, after the last row.
  void Finish();

 private:
  // Ids number the events of a process in their order.
  struct Call {
    std::int64_t time = 0;
    std::uint64_t id = 0;
    std::uint64_t address = 0;
    std::int64_t size = -1;
    std::int64_t used = -1;   // the allocator's count after it
    std::int64_t total = -1;  // what it has reserved
    std::uint32_t thread = 0;
    std::uint32_t python_stack = 0;  // texts
    std::uint32_t c_stack = 0;
    std::uint32_t owner = 0;
    bool frees = false;
  };
  struct Edge {  // of an operator
    std::int64_t time = 0;
    std::uint64_t id = 0;
    std::uint32_t thread = 0;
    std::uint32_t name = 0;
    bool begins = false;
  };
  // Devices first; -1 is the host.
  struct Place {
    std::int32_t device = -1;
    std::int64_t process = 0;
    std::string type;
    [[nodiscard]] bool driver() const { return type == "HAL"; }
    friend bool operator<(const Place& a, const Place& b) {
      return std::tuple(a.device < 0, a.device, a.process, !a.driver(), std::string_view(a.type)) <
             std::tuple(b.device < 0, b.device, b.process, !b.driver(), std::string_view(b.type));
    }
  };
  using Ledger = std::vector<std::uint32_t>;  // rows of calls_
  struct Walk;

  std::uint32_t Intern(std::string_view text);
  bool AddCall(const MemscopeRow& row, std::int64_t time, bool frees);
  void PairEdges();
  void Push(const Walk& walk, Event event, LabelSetId labels);
  void Reserve(Walk& walk, const Call& call);
  std::optional<std::int64_t> SizeOf(Walk& walk, const Call& call);
  void AddTrace(const Place& place, Ledger& calls, DomainId driver, CodeStacks& code);
  StackId StackOf(std::uint32_t row, CodeStacks& code);
  LabelSetId LabelsOf(std::uint32_t owner);
  std::string NameOf(const Place& place) const;
  void AddDiagnostics(std::uint64_t cut) const;

  RecordingBuilder& builder_;
  const Limits& limits_;
  ByteInterner texts_;
  RowVector<Call> calls_;
  RowVector<Edge> edges_;
  std::vector<CodeSpan> spans_;
  std::vector<std::uint32_t> around_;  // per call the node of CodeStacks
  std::map<Place, Ledger> ledgers_;
  KeySet<std::int64_t> processes_;
  KeyMap<std::uint32_t, LabelSetId> labels_;     // by owner
  KeyMap<std::uint32_t, std::uint32_t> stacks_;  // by text the node
  History history_;
  std::uint64_t unknown_frees_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace memtool::formats::ascend
