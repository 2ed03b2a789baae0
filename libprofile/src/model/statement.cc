#include "memtool/profile/model/statement.h"

#include <algorithm>
#include <array>

#include "memtool/profile/base/numbers.h"

namespace memtool {

namespace {

// Containers of recordings have the index: new ones are added at the end.
constexpr std::array kAmounts = {
    AmountKind{"weights", "weights", AmountRole::kPart},
    AmountKind{"kv_cache", "KV cache", AmountRole::kPart},
    AmountKind{"state", "recurrent state", AmountRole::kPart},
    AmountKind{"activations", "activations (peak)", AmountRole::kPart},
    AmountKind{"compute", "compute buffers", AmountRole::kPart},
    AmountKind{"output", "output buffers", AmountRole::kPart},
    AmountKind{"graphs", "CUDA graphs", AmountRole::kPart},
    AmountKind{"adapters", "LoRA adapters", AmountRole::kPart},
    AmountKind{"projector", "projector", AmountRole::kPart},
    AmountKind{"prompt_cache", "prompt cache", AmountRole::kPart},
    AmountKind{"consumed", "weights and outside the framework", AmountRole::kPart},
    AmountKind{"non_framework", "outside the framework", AmountRole::kPart},
    AmountKind{"allocated", "allocated", AmountRole::kLevel},
    AmountKind{"reserved", "reserved", AmountRole::kLevel},
    AmountKind{"process", "used by the process", AmountRole::kLevel},
    AmountKind{"host_used", "used on the host", AmountRole::kLevel},
    AmountKind{"host_free", "available on the host", AmountRole::kDevice},
    AmountKind{"peak_allocated", "peak allocated", AmountRole::kPeak},
    AmountKind{"peak_reserved", "peak reserved", AmountRole::kPeak},
    AmountKind{"peak_used", "peak used", AmountRole::kPeak},
    AmountKind{"total", "capacity", AmountRole::kDevice},
    AmountKind{"used", "used on the device", AmountRole::kDevice},
    AmountKind{"free", "free on the device", AmountRole::kDevice},
    AmountKind{"free_at_start", "free on the device before the start", AmountRole::kDevice},
    AmountKind{"requested", "requested", AmountRole::kBudget},
    AmountKind{"kv_tokens", "tokens in the KV cache", AmountRole::kCount},
    AmountKind{"kv_blocks", "blocks of the KV cache", AmountRole::kCount},
    AmountKind{"kv_cells", "cells of the KV cache", AmountRole::kCount},
    AmountKind{"request_tokens", "longest request, in tokens", AmountRole::kCount},
    AmountKind{"ooms", "out-of-memory errors", AmountRole::kCount},
    AmountKind{"retries", "repeated requests to the driver", AmountRole::kCount},
    AmountKind{"asked", "asked for", AmountRole::kBudget},
    AmountKind{"limit", "limit", AmountRole::kBudget},
    AmountKind{"cached", "cached", AmountRole::kLevel},
    AmountKind{"largest_free", "largest free piece", AmountRole::kDevice},
    AmountKind{"lacking", "lacking", AmountRole::kBudget},
    AmountKind{"arguments", "arguments of a program", AmountRole::kPart},
    AmountKind{"results", "results of a program", AmountRole::kPart},
    AmountKind{"temporaries", "temporaries of a program", AmountRole::kPart},
    AmountKind{"code", "code of a program", AmountRole::kPart},
};

}  // namespace

std::span<const AmountKind> AmountKinds() {
  return kAmounts;
}

std::optional<std::uint8_t> FindAmount(std::string_view name) {
  const auto at = std::find_if(kAmounts.begin(), kAmounts.end(),
                               [name](const AmountKind& kind) { return kind.name == name; });
  return at == kAmounts.end() ? std::nullopt
                              : std::optional(static_cast<std::uint8_t>(at - kAmounts.begin()));
}

std::optional<std::int32_t> DeviceNumber(std::string_view device) {
  device.remove_prefix(std::min(device.find_first_of("0123456789"), device.size()));
  return TakeNumber<std::int32_t>(device);
}

bool MayBeSameDevice(std::string_view a, std::string_view b) {
  const auto kind_of = [](std::string_view device) {
    return device.substr(0, std::min(device.find_first_of("0123456789"), device.size()));
  };
  const auto number_a = DeviceNumber(a);
  const auto number_b = DeviceNumber(b);
  return (!number_a || !number_b || *number_a == *number_b) &&
         (kind_of(a).empty() || kind_of(b).empty() || kind_of(a) == kind_of(b));
}

}  // namespace memtool
