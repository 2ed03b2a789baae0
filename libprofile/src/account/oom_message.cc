#include "memtool/profile/account/oom_message.h"

namespace memtool {

std::string_view NameOf(OomWording wording) {
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
    case OomWording::kXla:
      return "xla";
    case OomWording::kXlaHbm:
      return "xla-hbm";
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
