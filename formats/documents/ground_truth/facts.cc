// Readings as facts of an account.
#include <algorithm>

#include "memtool/formats/device_report_facts.h"

namespace memtool::formats {

AccountFacts MakeFacts(const DeviceReport& report, const DeviceReading& reading) {
  AccountFacts facts;
  const auto said = [&](std::optional<std::int64_t> bytes) {
    return bytes ? std::optional(Quantity{
                       .bytes = *bytes, .precision = reading.precision, .source = report.display})
                 : std::nullopt;
  };
  switch (reading.scope) {
    case ReportScope::kDevice:
      facts.capacity = said(reading.total);
      facts.used = said(reading.used);
      facts.free = said(reading.free);
      break;
    case ReportScope::kAllocator:
      facts.reserved = said(reading.reserved);
      facts.allocated = said(reading.allocated);
      facts.requested = said(reading.requested);
      if (report.form == "jax-memory-stats") {
        facts.reserved_kind = ReservedKind::kXlaPool;
        facts.pool_limit = reading.total;
      }
      break;
    case ReportScope::kProcess:
    case ReportScope::kNumber:
      facts.process = said(reading.used);
      break;
  }
  return facts;
}

AccountFacts FactsAround(const DeviceReport& report, const DeviceReading& chosen) {
  AccountFacts facts = MakeFacts(report, chosen);
  const auto device = std::find_if(
      report.readings.begin(), report.readings.end(), [&chosen](const DeviceReading& each) {
        return each.scope == ReportScope::kDevice && each.gpu == chosen.gpu;
      });
  if (chosen.scope == ReportScope::kProcess && chosen.gpu && device != report.readings.end()) {
    Supplement(facts, MakeFacts(report, *device));
  }
  return facts;
}

}  // namespace memtool::formats
