#include "support/history/tensor_ledgers.h"

#include <fmt/format.h>

#include <utility>

#include "support/history/component_totals.h"
#include "support/history/name_stacks.h"

namespace memtool::formats::ascend {

TensorLedger* TensorLedgers::Of(std::int32_t device, std::string_view component) {
  const auto of_device = devices_.find(device);
  if (of_device != devices_.end()) {
    const auto at = of_device->second.find(component);
    if (at != of_device->second.end()) {
      return &at->second;
    }
  }
  if (count_ == kMaxLedgers) {
    ++left_out_;
    return nullptr;
  }
  ++count_;
  return &devices_[device][std::string(component)];
}

bool TensorLedgers::Tell(std::int32_t device, std::string_view component) const {
  const auto of_device = devices_.find(device);
  return of_device != devices_.end() &&
         (component == kPrintedSum ||
          of_device->second.contains(component == kPyTorch ? std::string_view() : component));
}

DomainId TensorLedgers::AddTrace(std::int32_t device, const std::string& component,
                                 std::string name, TensorLedger& ledger, History& history) {
  const DomainId domain(history.domains.size());
  history.domains.push_back({.name = component.empty() ? "blocks" : component,
                             .device = device,
                             .kind = device < 0 ? DomainKind::kCpu : DomainKind::kDevice});
  Trace trace{.device = device, .name = std::move(name), .blocks = domain, .segments = domain};
  ledger.MoveTo(history, trace, static_cast<std::uint8_t>(domain.value()));
  history.traces.push_back(std::move(trace));
  gaps_ += ledger.gaps();
  unsorted_ += ledger.sorted() ? 0 : 1;
  reserved_below_live_ += ledger.reserved_below_live() ? 1 : 0;
  return domain;
}

std::map<std::int32_t, std::vector<DomainId>> TensorLedgers::MoveTo(History& history) {
  std::map<std::int32_t, std::vector<DomainId>> domains;
  history.streams = streams_.Take();
  for (auto& [device, ledgers] : devices_) {
    const std::string name = device < 0 ? "cpu" : fmt::format("NPU:{}", device);
    std::vector<DomainId>& of_device = domains[device];
    for (auto& [component, ledger] : ledgers) {
      of_device.push_back(AddTrace(device, component,
                                   of_device.empty() ? name : fmt::format("{} {}", name, component),
                                   ledger, history));
    }
  }
  return domains;
}

void TensorLedgers::AddDiagnostics(RecordingBuilder& builder) const {
  builder.AddDiagnostic(
      Severity::kNote, "unsorted",
      "devices whose rows are not in the order of allocation: no total is compared, and what was "
      "there before is unknown",
      unsorted_);
  builder.AddDiagnostic(Severity::kNote, "totals_followed",
                        "moments at which the allocator's total changed by more or less than the "
                        "rows say: the rest is what is live without an address",
                        gaps_);
  builder.AddDiagnostic(Severity::kDamage, "reserved_below_live",
                        "devices with more bytes live than reserved at some time: what is reserved "
                        "is left out",
                        reserved_below_live_);
  builder.AddDiagnostic(Severity::kDamage, "skipped_row", "rows of devices beyond the first 250",
                        left_out_);
}

}  // namespace memtool::formats::ascend
