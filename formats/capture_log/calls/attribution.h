// Whom a call belongs to: its attribute set, its ledger, and the device of its pool.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "capture_log/calls/call.h"
#include "capture_log/log/definitions.h"

namespace memtool::formats::capture_log {

class Attribution {
 public:
  explicit Attribution(const Definitions& definitions) : definitions_(definitions) {}

  // nullptr where the definition is lost, which is counted.
  const AttributesRow* AttributesOf(const Call& call);
  const LedgerRow* LedgerOf(const AttributesRow& attributes);
  // The ledger on the device of the call's pool: the thread's current device, which the log names,
  // may be a different one. Valid until the next call.
  const LedgerRow* LedgerOnPoolDevice(const AttributesRow& attributes);

  void SetPoolDevice(std::uint64_t pool, std::int32_t device) { pool_devices_[pool] = device; }

  // Definitions that were looked up and are lost.
  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }

 private:
  const Definitions& definitions_;
  std::unordered_map<std::uint64_t, std::int32_t> pool_devices_;
  LedgerRow moved_;
  std::uint64_t unknown_ = 0;
};

}  // namespace memtool::formats::capture_log
