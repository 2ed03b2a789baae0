// What the wrappers of all providers share: attributes of events without a domain, the order of
// frees, sizes of arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/recorder.h"

// A wrapper, exported by the shim under the driver's name.
#define MEMTOOL_EXPORT __attribute__((visibility("default")))

namespace memtool::capture {

inline std::uint64_t Address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// UINT64_MAX where it is more.
inline std::uint64_t Product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

inline Attributes FreeAttributes(wire::Space space) {
  return {.space = space, .name = "free"};
}

inline Attributes StreamFreeAttributes(const void* stream) {
  Attributes attributes = FreeAttributes(wire::Space::kDevicePointer);
  attributes.stream = Address(stream);
  return attributes;
}

inline Attributes HandleAttributes() {
  return {.space = wire::Space::kVmmHandle, .kind = wire::Kind::kVmm, .name = "vmm"};
}

inline Attributes AddressAttributes() {
  return {.space = wire::Space::kVirtual, .kind = wire::Kind::kVmm, .name = "addresses"};
}

// A free is written before the driver's call: see FORMAT.md.
template <class Call>
int RecordedFree(bool wanted, const Attributes& attributes, std::uint64_t key, Call call) {
  const bool record = wanted && key != 0;
  if (record) {
    RecordFree(attributes, key);
  }
  const int status = call();
  if (record && status != 0) {
    RecordFreeFailed(attributes, key, static_cast<std::uint64_t>(status));
  }
  return status;
}

// The attributes of a pool that is made or handed out say what its memory is: see FORMAT.md.
inline void RecordPool(const void* pool, wire::PoolOp operation, std::int32_t device,
                       std::uint64_t size, const Attributes& attributes = {.name = "pool"},
                       bool once = false) {
  RecordPlain(wire::Tag::kPool, attributes,
              {.values = {Address(pool), static_cast<std::uint64_t>(operation),
                          static_cast<std::uint64_t>(device + 1), size},
               .count = 4,
               .once = once});
}

inline Attributes ContextAttributes() {
  return {.name = "context"};
}

inline void RecordContextEnd(std::uint64_t context, std::int32_t device) {
  RecordPlain(wire::Tag::kContextEnd, ContextAttributes(),
              {.values = {context, static_cast<std::uint64_t>(device + 1)}, .count = 2});
}

// Like frees, written before the call: another thread's new context may get the same handle.
template <class Call>
int RecordedContextEnd(bool wanted, std::uint64_t context, std::int32_t device, Call call) {
  const bool record = wanted && context != 0;
  if (record) {
    RecordContextEnd(context, device);
  }
  const int status = call();
  if (record && status != 0) {
    RecordFreeFailed(ContextAttributes(), context, static_cast<std::uint64_t>(status));
  }
  return status;
}

// The same for reserved addresses.
template <class Call>
int RecordedUnreserve(bool wanted, std::uint64_t address, std::uint64_t size, Call call) {
  if (wanted) {
    RecordPlain(wire::Tag::kUnreserve, AddressAttributes(),
                {.values = {address, size}, .count = 2});
  }
  const int status = call();
  if (wanted && status != 0) {
    RecordFreeFailed(AddressAttributes(), address, static_cast<std::uint64_t>(status));
  }
  return status;
}

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

}  // namespace memtool::capture
