#include "capture_log/calls/attribution.h"

#include <utility>

namespace memtool::formats::capture_log {

const AttributesRow* Attribution::GetAttributes(const Call& call) {
  const AttributesRow* attributes = definitions_.attribute_sets.Find(call.attributes);
  unknown_ += attributes == nullptr ? 1 : 0;
  return attributes;
}

const DomainRow* Attribution::GetDomain(const AttributesRow& attributes) {
  const DomainRow* domain = definitions_.domains.Find(attributes.domain);
  unknown_ += domain == nullptr ? 1 : 0;
  return domain;
}

const DomainRow* Attribution::DomainInPool(const AttributesRow& attributes) {
  const DomainRow* domain = GetDomain(attributes);
  const auto pool = attributes.pool == 0 ? pools_.end() : pools_.find(attributes.pool);
  if (domain == nullptr || pool == pools_.end()) {
    return domain;
  }
  const PoolRow& row = pool->second;
  moved_ = *domain;
  moved_.device = row.device.value_or(domain->device);
  if (row.kind != wire::Kind::kDevice) {
    moved_.kind = row.kind;
    moved_.name = row.domain;
  }
  return &moved_;
}

void Attribution::SetPool(std::uint64_t pool, const Call& made,
                          std::optional<std::int32_t> device) {
  PoolRow row{.device = device};
  // Where the definitions are lost, the device is still known.
  const AttributesRow* attributes = definitions_.attribute_sets.Find(made.attributes);
  const DomainRow* domain =
      attributes == nullptr ? nullptr : definitions_.domains.Find(attributes->domain);
  if (domain != nullptr && domain->kind != wire::Kind::kDevice) {
    row.kind = domain->kind;
    row.domain = domain->name;
  }
  pools_[pool] = std::move(row);
}

}  // namespace memtool::formats::capture_log
