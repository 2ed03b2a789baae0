// The ledgers of all allocators of an Ascend NPU's recording: one per device and component, of
// which PyTorch's allocator is the one that has the device's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/model/recording_builder.h"
#include "support/history/stream_table.h"
#include "support/history/tensor_ledger.h"

namespace memtool::formats::ascend {

// Components: PyTorch's allocator, and CANN's graph engine.
inline constexpr std::string_view kPyTorch = "PTA";
inline constexpr std::string_view kGraphEngine = "GE";

class TensorLedgers {
 public:
  // `device`: -1 is the CPU. `component`: empty for PyTorch's allocator. Where there are as many as
  // events can name, nullptr, and the row counts as left out.
  TensorLedger* Of(std::int32_t device, std::string_view component);
  [[nodiscard]] bool empty() const { return devices_.empty(); }
  // Whether totals of a component are in a ledger already: those of PTA and GE, and of their
  // printed sum.
  [[nodiscard]] bool Tell(std::int32_t device, std::string_view component) const;
  // Of History::streams; 0, the default stream, for those beyond what events can name.
  std::uint16_t StreamOf(std::uint64_t handle) { return streams_.Of(handle); }

  // Once, after all rows, and before anything else is in `history`. Returns the domains of each
  // device.
  std::map<std::int32_t, std::vector<DomainId>> MoveTo(History& history);
  // Known after MoveTo.
  void AddDiagnostics(RecordingBuilder& builder) const;

 private:
  DomainId AddTrace(std::int32_t device, const std::string& component, std::string name,
                    TensorLedger& ledger, History& history);

  std::map<std::int32_t, std::map<std::string, TensorLedger, std::less<>>> devices_;
  std::size_t count_ = 0;  // of ledgers
  StreamTable streams_;
  std::uint64_t left_out_ = 0;
  std::uint64_t gaps_ = 0;
  std::uint64_t unsorted_ = 0;
  std::uint64_t reserved_below_live_ = 0;
};

}  // namespace memtool::formats::ascend
