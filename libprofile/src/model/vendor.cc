#include "memtool/profile/model/vendor.h"

#include <algorithm>
#include <array>

namespace memtool {

namespace {

// Source: torch_npu, csrc/core/npu/NPUCachingAllocator.cpp and NPUAllocatorConfig.cpp.
constexpr std::array<std::string_view, 4> kNpuRules{
    "requests are padded by 32 bytes before they are rounded (modelled, where blocks show it)",
    "with expandable_segments, blocks of 2 MiB and more begin at multiples of 16 KiB",
    "expandable_segments is refused together with max_split_size_mb or "
    "garbage_collection_threshold",
    "operators' workspaces are in an allocator of their own, which is emptied before a retry"};

constexpr std::array<Vendor, 11> kVendors{
    {{.kind = "",
      .device = "GPU",
      .variable = "PYTORCH_CUDA_ALLOC_CONF",
      .cuda = true,
      .processes = "nvidia-smi"},
     {.kind = "CUDA",
      .device = "GPU",
      .variable = "PYTORCH_CUDA_ALLOC_CONF",
      .cuda = true,
      .processes = "nvidia-smi"},
     {.kind = "Cuda",
      .device = "GPU",
      .variable = "PYTORCH_CUDA_ALLOC_CONF",
      .cuda = true,
      .processes = "nvidia-smi"},
     {.kind = "HIP",
      .device = "GPU",
      .variable = "PYTORCH_HIP_ALLOC_CONF",
      .processes = "rocm-smi --showpids"},
     {.kind = "XPU", .device = "GPU", .variable = "PYTORCH_ALLOC_CONF", .processes = "xpu-smi ps"},
     {.kind = "NPU",
      .device = "NPU",
      .variable = "PYTORCH_NPU_ALLOC_CONF",
      .processes = "npu-smi info",
      .padding = 32,
      .other_rules = kNpuRules},
     {.kind = "MLU", .device = "MLU", .variable = "PYTORCH_MLU_ALLOC_CONF"},
     {.kind = "MUSA", .device = "MUSA", .variable = "PYTORCH_MUSA_ALLOC_CONF"},
     {.kind = "MTIA", .device = "MTIA", .variable = "PYTORCH_MTIA_ALLOC_CONF"},
     {.kind = "HPU", .device = "HPU", .variable = "PYTORCH_HPU_ALLOC_CONF"},
     // It has the same words for GPUs and NPUs.
     {.kind = "MindSpore's allocator", .device = "device", .variable = {}}}};
constexpr Vendor kOther{.kind = {}, .device = "GPU", .variable = {}};

}  // namespace

const Vendor& VendorOf(std::string_view kind) {
  const auto* found = std::find_if(kVendors.begin(), kVendors.end(),
                                   [kind](const Vendor& vendor) { return vendor.kind == kind; });
  return found == kVendors.end() ? kOther : *found;
}

std::string SettingsVariable(std::string_view kind) {
  const std::string_view known = VendorOf(kind).variable;
  return known.empty() ? "PYTORCH_" + std::string(kind) + "_ALLOC_CONF" : std::string(known);
}

}  // namespace memtool
