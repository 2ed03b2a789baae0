// The wrappers, made from functions.inc, and what only HIP has.
#include "hip/wrappers.h"

#include "providers/wrapping.h"

namespace memtool::capture {

namespace {

struct Hip {
  // On the calling thread's device; its number + 1 stands for its context.
  static Attributes Here(const Memory& memory) {
    static DriverFunction get_device{};
    Attributes attributes{.space = memory.space, .kind = memory.kind, .name = memory.name};
    const auto device =
        FindFunction<HipStatus (*)(int*)>(HipProvider(), "hipGetDevice", get_device);
    int ordinal = -1;
    if (device != nullptr && device(&ordinal) == 0) {
      attributes.device = ordinal;
      attributes.context = static_cast<std::uint64_t>(ordinal) + 1;
    }
    return attributes;
  }
  static std::uint64_t FreeBytes(const Attributes& attributes) {
    static DriverFunction get_info{};
    const auto info = FindFunction<HipStatus (*)(std::size_t*, std::size_t*)>(
        HipProvider(), "hipMemGetInfo", get_info);
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    return attributes.device >= 0 && info != nullptr && info(&free_bytes, &total) == 0 ? free_bytes
                                                                                       : UINT64_MAX;
  }
  static bool Capturing(HipObject stream, bool /*per_thread*/) {
    static DriverFunction is_capturing{};
    const auto ask = FindFunction<HipStatus (*)(HipObject, int*)>(
        HipProvider(), "hipStreamIsCapturing", is_capturing);
    int state = 0;
    return ask != nullptr && ask(stream, &state) == 0 && state == 1;
  }
  static void GraphNode(GraphOp operation, std::uint64_t pointer, std::size_t size) {
    RecordGraphNode(Here(kNodes), operation, pointer, size);
  }
};

std::int32_t GetDevice(const HipProps* props) {
  constexpr int kOnDevice = 1;  // hipMemLocationTypeDevice
  return props != nullptr && props->location.type == kOnDevice ? props->location.id : -1;
}

template <class Call>
int MakePool(const Call& call, const HipObject* pool, const HipProps* props) {
  return After(call.If(props != nullptr),
               [&] { RecordPool(*pool, PoolOp::kCreate, GetDevice(props), 0); });
}

template <class Call>
int Alloc3d(const Call& call, const HipPitched* pitched, const Extent& extent) {
  static constexpr HipPitched kNothing{};
  const HipPitched& made = pitched == nullptr ? kNothing : *pitched;
  return AllocPitched(call.If(pitched != nullptr), &made.pointer, &made.pitch, extent.width,
                      extent.height, extent.depth);
}

std::uint64_t ElementBytes(const HipChannels* channels) {
  const int bits = channels == nullptr ? 0 : channels->x + channels->y + channels->z + channels->w;
  return bits <= 0 ? 0 : static_cast<std::uint64_t>(bits) / 8;
}

template <class Call>
int ResetDevice(const Call& call) {
  const Attributes here = Hip::Here(kPlain);
  return EndContext(call, here.context, here.device);
}

}  // namespace

extern "C" {
#define MEMTOOL_HIP(name, parameters, arguments, ...) \
  MEMTOOL_WRAPPER(Hip, HipReal(HipRow::k_##name), name, parameters, arguments, __VA_ARGS__)
#include "hip/functions.inc"
#undef MEMTOOL_HIP
}

}  // namespace memtool::capture
