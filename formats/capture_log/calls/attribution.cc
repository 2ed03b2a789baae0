#include "capture_log/calls/attribution.h"

namespace memtool::formats::capture_log {

const AttributesRow* Attribution::AttributesOf(const Call& call) {
  const AttributesRow* attributes = definitions_.attribute_sets.Find(call.attributes);
  unknown_ += attributes == nullptr ? 1 : 0;
  return attributes;
}

const LedgerRow* Attribution::LedgerOf(const AttributesRow& attributes) {
  const LedgerRow* ledger = definitions_.ledgers.Find(attributes.ledger);
  unknown_ += ledger == nullptr ? 1 : 0;
  return ledger;
}

const LedgerRow* Attribution::LedgerOnPoolDevice(const AttributesRow& attributes) {
  const LedgerRow* ledger = LedgerOf(attributes);
  const auto pool =
      attributes.pool == 0 ? pool_devices_.end() : pool_devices_.find(attributes.pool);
  if (ledger == nullptr || pool == pool_devices_.end() || pool->second == ledger->device) {
    return ledger;
  }
  moved_ = *ledger;
  moved_.device = pool->second;
  return &moved_;
}

}  // namespace memtool::formats::capture_log
