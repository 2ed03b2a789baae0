#include "capture_log/calls/attribution.h"

#include <utility>

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

const LedgerRow* Attribution::LedgerInPool(const AttributesRow& attributes) {
  const LedgerRow* ledger = LedgerOf(attributes);
  const auto pool = attributes.pool == 0 ? pools_.end() : pools_.find(attributes.pool);
  if (ledger == nullptr || pool == pools_.end()) {
    return ledger;
  }
  const PoolRow& row = pool->second;
  moved_ = *ledger;
  moved_.device = row.device.value_or(ledger->device);
  if (row.kind != wire::Kind::kDevice) {
    moved_.kind = row.kind;
    moved_.name = row.ledger;
  }
  return &moved_;
}

void Attribution::SetPool(std::uint64_t pool, const Call& made,
                          std::optional<std::int32_t> device) {
  PoolRow row{.device = device};
  // Where the definitions are lost, the device is still known.
  const AttributesRow* attributes = definitions_.attribute_sets.Find(made.attributes);
  const LedgerRow* ledger =
      attributes == nullptr ? nullptr : definitions_.ledgers.Find(attributes->ledger);
  if (ledger != nullptr && ledger->kind != wire::Kind::kDevice) {
    row.kind = ledger->kind;
    row.ledger = ledger->name;
  }
  pools_[pool] = std::move(row);
}

}  // namespace memtool::formats::capture_log
