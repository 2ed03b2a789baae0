// What wrappers are made of. A row of a provider's functions.inc says in one expression what a call
// means; the functions here are the words of those expressions. Each makes the call once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/settings.h"
#include "base/thread_state.h"
#include "providers/provider.h"
#include "record/recorder.h"

// A wrapper, exported by the shim under the driver's name.
#define MEMTOOL_EXPORT __attribute__((visibility("default")))

namespace memtool::capture {

using wire::GraphOp;
using wire::Kind;
using wire::PoolOp;
using wire::Space;
using wire::Tag;

// The status codes that CUDA and HIP share.
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNoDevice = 100;

inline std::uint64_t Address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
inline std::uint64_t Key(const void* pointer) {
  return Address(pointer);
}
inline std::uint64_t Key(unsigned long long key) {
  return key;
}

// UINT64_MAX where it is more.
inline std::uint64_t Product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

// --- attributes

struct Memory {
  Space space;
  Kind kind;
  const char* name;
};
inline constexpr Memory kPlain{Space::kDevicePointer, Kind::kDevice, "device"};
inline constexpr Memory kManaged{Space::kDevicePointer, Kind::kManaged, "managed"};
inline constexpr Memory kAsync{Space::kDevicePointer, Kind::kDevice, "async"};
inline constexpr Memory kShared{Space::kDevicePointer, Kind::kDevice, "shared"};
inline constexpr Memory kNodes{Space::kDevicePointer, Kind::kDevice, "graph nodes"};
inline constexpr Memory kPinned{Space::kHostPointer, Kind::kPinned, "pinned"};
inline constexpr Memory kRegistered{Space::kHostPointer, Kind::kPinned, "registered"};
inline constexpr Memory kArray{Space::kArray, Kind::kDevice, "array"};
inline constexpr Memory kMipmap{Space::kMipmap, Kind::kDevice, "mipmapped array"};

inline Attributes FreeAttributes(Space space) {
  return {.space = space, .name = "free"};
}
inline Attributes HandleAttributes() {
  return {.space = Space::kVmmHandle, .kind = Kind::kVmm, .name = "vmm"};
}
inline Attributes AddressAttributes() {
  return {.space = Space::kVirtual, .kind = Kind::kVmm, .name = "addresses"};
}
inline Attributes ContextAttributes() {
  return {.name = "context"};
}

// --- a call

// Of the driver's function, with the program's arguments. `Driver` answers, of the calling thread:
//   Attributes Here(const Memory&)
//   std::uint64_t FreeBytes(const Attributes&)   what the driver says is free, or UINT64_MAX
//   bool Capturing(void* stream, bool per_thread)   into a graph: the call takes no memory
//   void GraphNode(GraphOp, std::uint64_t pointer, std::size_t size)
template <class DriverOfCall, class Real>
struct Call {
  using Driver = DriverOfCall;
  Real real;
  bool entered;  // the program's own call, not one of the driver's
  bool wanted;
  int operator()() const { return real(); }
  [[nodiscard]] Call If(bool condition) const { return {real, entered, wanted && condition}; }
  [[nodiscard]] Call IfPinned() const { return If(GetSettings().pinned); }
};

template <class Driver, class Real>
Call<Driver, Real> MakeCall(const Busy& busy, Real real) {
  return {real, busy.entered(), busy.entered() && Recording()};
}

// A row's function: the driver's, or the status of a program without a driver.
#define MEMTOOL_WRAPPER(driver, found, name, parameters, arguments, ...)      \
  int name parameters {                                                       \
    const auto real = reinterpret_cast<decltype(&name)>(found);               \
    if (real == nullptr) {                                                    \
      return kNoDevice;                                                       \
    }                                                                         \
    const Busy busy;                                                          \
    const auto call = MakeCall<driver>(busy, [&] { return real arguments; }); \
    return __VA_ARGS__;                                                       \
  }

// --- what calls mean

// Something to record, once the driver has done it.
template <class Call, class Action>
int After(const Call& call, Action action) {
  const int status = call();
  if (call.wanted && status == 0) {
    action();
  }
  return status;
}

// What ends something is written before the driver's call, because another thread may be given the
// same key at once, and taken back when the driver refused it: see FORMAT.md.
template <class Call>
int Before(const Call& call, Tag tag, const Attributes& attributes, const Numbers& numbers) {
  if (call.wanted) {
    RecordPlain(tag, attributes, numbers);
  }
  const int status = call();
  if (call.wanted && status != 0) {
    RecordFreeFailed(attributes, numbers.values[0], static_cast<std::uint64_t>(status));
  }
  return status;
}

template <class Call>
int Free(const Call& call, const Attributes& attributes, std::uint64_t key) {
  const bool record = call.wanted && key != 0;
  if (record) {
    RecordFree(attributes, key);
  }
  const int status = call();
  if (record && status != 0) {
    RecordFreeFailed(attributes, key, static_cast<std::uint64_t>(status));
  }
  return status;
}

template <class Call>
int Free(const Call& call, Space space, std::uint64_t key) {
  return Free(call, FreeAttributes(space), key);
}

template <class Call>
int FreeAsync(const Call& call, std::uint64_t key, void* stream, bool per_thread) {
  using Driver = typename Call::Driver;
  if (call.wanted && Driver::Capturing(stream, per_thread)) {
    return After(call, [&] { Driver::GraphNode(GraphOp::kFree, key, 0); });
  }
  Attributes attributes = FreeAttributes(Space::kDevicePointer);
  attributes.stream = Address(stream);
  return Free(call, attributes, key);
}

// Records an allocation, or its failure.
template <class Driver>
void Allocated(const Attributes& attributes, int status, std::uint64_t key, std::uint64_t size,
               bool estimated = false) {
  if (status == 0) {
    return RecordAlloc(attributes, key, size, estimated);
  }
  RecordFailed(attributes, size, static_cast<std::uint64_t>(status),
               status == kOutOfMemory ? Driver::FreeBytes(attributes) : UINT64_MAX);
}

// `size`: bytes, or a function of whether the call succeeded. Sizes of arrays are estimated.
template <class Call, class Out, class Size>
int Alloc(const Call& call, const Memory& memory, const Out* out, Size size) {
  const int status = call();
  if (call.wanted) {
    Attributes attributes = Call::Driver::Here(memory);
    if (memory.space == Space::kHostPointer) {
      attributes.device = -1;
    }
    std::uint64_t bytes = 0;
    if constexpr (std::is_integral_v<Size>) {
      bytes = size;
    } else {
      bytes = size(status == 0);
    }
    Allocated<typename Call::Driver>(
        attributes, status, status == 0 ? Key(*out) : 0, bytes,
        memory.space == Space::kArray || memory.space == Space::kMipmap);
  }
  return status;
}

template <class Call, class Out>
int AllocPitched(const Call& call, const Out* out, const std::size_t* pitch, std::size_t width,
                 std::size_t height, std::size_t depth = 1) {
  return Alloc(call, kPlain, out,
               [&](bool made) { return Product(Product(made ? *pitch : width, height), depth); });
}

template <class Call, class Out>
int AllocAsync(const Call& call, const Out* out, std::size_t size, const void* pool, void* stream,
               bool per_thread) {
  using Driver = typename Call::Driver;
  const int status = call();
  if (!call.wanted) {
    return status;
  }
  if (status == 0 && Driver::Capturing(stream, per_thread)) {
    Driver::GraphNode(GraphOp::kAlloc, Key(*out), size);
    return status;
  }
  Attributes attributes = Driver::Here(kAsync);
  attributes.stream = Address(stream);
  attributes.pool = Address(pool);
  Allocated<Driver>(attributes, status, status == 0 ? Key(*out) : 0, size);
  return status;
}

// --- the virtual memory functions, and memory from other processes

template <class Call, class Handle>
int Create(const Call& call, const Handle* handle, std::size_t size, std::int32_t device) {
  const int status = call();
  if (call.wanted) {
    Attributes attributes = HandleAttributes();
    attributes.device = device;
    Allocated<typename Call::Driver>(attributes, status, status == 0 ? Key(*handle) : 0, size);
  }
  return status;
}

template <class Call>
int Release(const Call& call, std::uint64_t handle) {
  return Before(call, Tag::kRelease, HandleAttributes(), {.values = {handle}, .count = 1});
}

template <class Call, class Handle>
int Retain(const Call& call, const Handle* handle) {
  return After(call, [&] {
    RecordPlain(Tag::kRetain, HandleAttributes(), {.values = {Key(*handle)}, .count = 1});
  });
}

template <class Call>
int Map(const Call& call, std::uint64_t handle, std::uint64_t address, std::size_t size,
        std::size_t offset) {
  return After(call, [&] {
    RecordPlain(Tag::kMap, HandleAttributes(),
                {.values = {handle, address, size, offset}, .count = 4});
  });
}

template <class Call>
int Unmap(const Call& call, Tag tag, std::uint64_t address, std::size_t size) {
  return Before(call, tag, AddressAttributes(), {.values = {address, size}, .count = 2});
}

template <class Call, class Out>
int Reserve(const Call& call, const Out* out, std::size_t size) {
  return After(call, [&] {
    RecordPlain(Tag::kReserve, AddressAttributes(),
                {.values = {Key(*out), size}, .count = 2, .with_stack = true});
  });
}

inline void RecordImport(const Attributes& attributes, std::uint64_t key) {
  RecordPlain(Tag::kImport, attributes, {.values = {key, 0}, .count = 2, .with_stack = true});
}

template <class Call, class Handle>
int ImportHandle(const Call& call, const Handle* handle) {
  return After(call, [&] { RecordImport(HandleAttributes(), Key(*handle)); });
}

template <class Call, class Out>
int ImportPointer(const Call& call, const Out* out) {
  return After(call, [&] { RecordImport(Call::Driver::Here(kShared), Key(*out)); });
}

// --- pools, contexts, graphs

// The attributes of a pool that is made or handed out say what its memory is: see FORMAT.md.
inline void RecordPool(const void* pool, PoolOp operation, std::int32_t device, std::uint64_t size,
                       const Attributes& attributes = {.name = "pool"}, bool once = false) {
  RecordPlain(Tag::kPool, attributes,
              {.values = {Address(pool), static_cast<std::uint64_t>(operation),
                          static_cast<std::uint64_t>(device + 1), size},
               .count = 4,
               .once = once});
}

template <class Call>
int ChangePool(const Call& call, const void* pool, PoolOp operation, std::size_t size = 0) {
  return After(call, [&] { RecordPool(pool, operation, -1, size); });
}

inline Numbers ContextNumbers(std::uint64_t context, std::int32_t device) {
  return {.values = {context, static_cast<std::uint64_t>(device + 1)}, .count = 2};
}

inline void RecordContextEnd(std::uint64_t context, std::int32_t device) {
  RecordPlain(Tag::kContextEnd, ContextAttributes(), ContextNumbers(context, device));
}

template <class Call>
int EndContext(const Call& call, std::uint64_t context, std::int32_t device) {
  return Before(call.If(context != 0), Tag::kContextEnd, ContextAttributes(),
                ContextNumbers(context, device));
}

inline void RecordGraphNode(const Attributes& attributes, GraphOp operation, std::uint64_t pointer,
                            std::size_t size) {
  RecordPlain(Tag::kGraphNode, attributes,
              {.values = {static_cast<std::uint64_t>(operation), pointer, size},
               .count = 3,
               .with_stack = true});
}

// --- the driver's own look-up

template <class Call>
int SwapFound(const Call& call, Provider& provider, const char* symbol, void** pointer, int version,
              std::uint64_t flags) {
  constexpr std::uint64_t kPerThreadStream = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
  const int status = call();
  if (status == 0 && call.entered && pointer != nullptr && symbol != nullptr) {
    *pointer = SwapByPointer(provider, *pointer, symbol, static_cast<std::uint32_t>(version),
                             (flags & kPerThreadStream) != 0);
  }
  return status;
}

// --- sizes of arrays

// Bytes of one channel, from CUarray_format, which HIP shares; 0 = unknown (block-compressed and
// planar forms).
inline std::uint64_t FormatBytes(int format) {
  switch (format) {
    case 0x01:
    case 0x08:
      return 1;
    case 0x02:
    case 0x09:
    case 0x10:
      return 2;
    case 0x03:
    case 0x0a:
    case 0x20:
      return 4;
    default:
      return 0;
  }
}

struct Extent {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
};

// Without the driver's own rounding: an estimate, and recorded as one.
inline std::uint64_t ArrayBytes(const Extent& extent, std::uint64_t element) {
  const auto at_least_one = [](std::size_t n) { return n == 0 ? std::size_t{1} : n; };
  return Product(Product(Product(at_least_one(extent.width), at_least_one(extent.height)),
                         at_least_one(extent.depth)),
                 element);
}

struct ArrayDescriptor {  // CUDA's and HIP's
  std::size_t width;
  std::size_t height;
  int format;
  unsigned channels;
};
struct Array3dDescriptor {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  int format;
  unsigned channels;
  unsigned flags;
};

inline std::uint64_t ArrayBytes(const ArrayDescriptor* array) {
  return array == nullptr ? 0
                          : ArrayBytes({array->width, array->height, 1},
                                       FormatBytes(array->format) * array->channels);
}
inline std::uint64_t ArrayBytes(const Array3dDescriptor* array) {
  return array == nullptr ? 0
                          : ArrayBytes({array->width, array->height, array->depth},
                                       FormatBytes(array->format) * array->channels);
}

// `call` where there is a descriptor.
template <class Call, class Descriptor>
int AllocArray(const Call& call, void* const* array, const Descriptor* descriptor) {
  return Alloc(call.If(descriptor != nullptr), kArray, array, ArrayBytes(descriptor));
}

}  // namespace memtool::capture
