#include "memtool/profile/account/oom_message.h"

namespace memtool {

std::string_view ToName(OomWording wording) {
  switch (wording) {
    case OomWording::kTorchCached:
      return "torch-cached";
    case OomWording::kTorchReserved:
      return "torch-reserved";
    case OomWording::kTorchUnallocated:
      return "torch-unallocated";
    case OomWording::kTorchAsync:
      return "torch-async";
    case OomWording::kTorchMps:
      return "torch-mps";
    case OomWording::kTorchRetry:
      return "torch-retry";
    case OomWording::kXla:
      return "xla";
    case OomWording::kXlaHbm:
      return "xla-hbm";
    case OomWording::kXlaScoped:
      return "xla-scoped";
    case OomWording::kXlaTpu:
      return "xla-tpu";
    case OomWording::kLibrary:
      return "library";
    case OomWording::kVllm:
      return "vllm";
    case OomWording::kTensorFlow:
      return "tensorflow";
    case OomWording::kHost:
      return "host";
    case OomWording::kNoFigures:
      break;
  }
  return "no-figures";
}

}  // namespace memtool
