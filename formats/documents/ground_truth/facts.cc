// Readings as facts of an account.
#include <algorithm>

#include "memtool/formats/ground_truth_facts.h"

namespace memtool::formats {

AccountFacts FactsOf(const GroundTruth& truth, const Reading& reading) {
  AccountFacts facts;
  const auto said = [&](std::optional<std::int64_t> bytes) {
    return bytes ? std::optional(Quantity{
                       .bytes = *bytes, .precision = reading.precision, .source = truth.display})
                 : std::nullopt;
  };
  switch (reading.scope) {
    case TruthScope::kDevice:
      facts.capacity = said(reading.total);
      facts.used = said(reading.used);
      facts.free = said(reading.free);
      break;
    case TruthScope::kAllocator:
      facts.reserved = said(reading.reserved);
      facts.allocated = said(reading.allocated);
      facts.requested = said(reading.requested);
      if (truth.form == "jax-memory-stats") {
        facts.reserved_kind = ReservedKind::kXlaPool;
        facts.pool_limit = reading.total;
      }
      break;
    case TruthScope::kProcess:
    case TruthScope::kNumber:
      facts.process = said(reading.used);
      break;
  }
  return facts;
}

AccountFacts FactsAround(const GroundTruth& truth, const Reading& chosen) {
  AccountFacts facts = FactsOf(truth, chosen);
  const auto device =
      std::find_if(truth.readings.begin(), truth.readings.end(), [&chosen](const Reading& each) {
        return each.scope == TruthScope::kDevice && each.gpu == chosen.gpu;
      });
  if (chosen.scope == TruthScope::kProcess && chosen.gpu && device != truth.readings.end()) {
    Supplement(facts, FactsOf(truth, *device));
  }
  return facts;
}

}  // namespace memtool::formats
