#include "memtool/profile/account/oom_message.h"

#include <algorithm>
#include <array>

namespace memtool {

namespace {

struct WordingNames {
  OomWording wording;
  std::string_view name;
  std::string_view display;  // for people; empty: whose allocator it is
};

constexpr std::array kWordings{
    WordingNames{OomWording::kTorchCached, "torch-cached", "PyTorch, wording of 1.0 to 1.3"},
    WordingNames{OomWording::kTorchReserved, "torch-reserved", "PyTorch, wording of 1.4 to 2.0"},
    WordingNames{OomWording::kTorchUnallocated, "torch-unallocated", "PyTorch, wording since 2.1"},
    WordingNames{OomWording::kTorchAsync, "torch-async", "PyTorch on cudaMallocAsync"},
    WordingNames{OomWording::kTorchMps, "torch-mps", "PyTorch on MPS"},
    WordingNames{OomWording::kTorchRetry, "torch-retry", "PyTorch, figures of its last warning"},
    WordingNames{OomWording::kXla, "xla", "XLA (JAX, TensorFlow)"},
    WordingNames{OomWording::kXlaHbm, "xla-hbm", "XLA's compiler"},
    WordingNames{OomWording::kXlaScoped, "xla-scoped", "XLA's compiler"},
    WordingNames{OomWording::kXlaTpu, "xla-tpu", "XLA's runtime on a TPU"},
    WordingNames{OomWording::kTensorFlow, "tensorflow", {}},
    WordingNames{OomWording::kLibrary, "library", {}},
    WordingNames{OomWording::kVllm, "vllm", {}},
    WordingNames{OomWording::kHost, "host", {}},
    WordingNames{OomWording::kNoFigures, "no-figures", {}},
};

const WordingNames& NamesOf(OomWording wording) {
  return *std::find_if(kWordings.begin(), kWordings.end(),
                       [wording](const WordingNames& names) { return names.wording == wording; });
}

}  // namespace

std::string_view ToName(OomWording wording) {
  return NamesOf(wording).name;
}

std::optional<OomWording> FindWording(std::string_view name) {
  const auto* const found =
      std::find_if(kWordings.begin(), kWordings.end(),
                   [name](const WordingNames& names) { return names.name == name; });
  return found == kWordings.end() ? std::nullopt : std::optional(found->wording);
}

std::string ToDisplayName(const OomMessage& message) {
  const std::string_view display = NamesOf(message.wording).display;
  if (!display.empty()) {
    return std::string(display);
  }
  if (message.wording != OomWording::kNoFigures) {
    return message.kind;
  }
  return message.kind.empty() ? "without figures" : message.kind + ", without figures";
}

}  // namespace memtool
