// What sentences call a kind of device, its allocator's settings, and how that allocator differs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace memtool {

struct Vendor {
  std::string_view kind;      // Origin::platform, or as a message has it: "NPU"; empty is CUDA
  std::string_view device;    // what one of them is called
  std::string_view variable;  // where PyTorch's allocator takes its settings from
  bool cuda = false;
  std::string_view processes = {};  // what names those that hold one of them
  // What some versions of its allocator add to a request before they round it; their blocks show
  // it.
  std::int64_t padding = 0;
  // Rules of its allocator that are not those of CUDA's, which is the one that is modelled.
  std::span<const std::string_view> other_rules{};
};

// Of kinds that are not listed, a GPU without a variable.
const Vendor& VendorOf(std::string_view kind);
// "PYTORCH_NPU_ALLOC_CONF"; after the kind where it is not known.
std::string SettingsVariable(std::string_view kind);

}  // namespace memtool
