// Wrappers of plain, pitched, managed, pinned and asynchronous allocations, of arrays and contexts.
#include <cstring>

#include "base.h"
#include "cuda_wrappers.h"
#include "elf_image.h"
#include "settings.h"

// The driver's function of this name, or the status of a program without a driver.
#define MEMTOOL_REAL(name)                                     \
  const auto real = CudaReal<decltype(&::name)>(Cu::k_##name); \
  if (real == nullptr) {                                       \
    return kCuNotInitialized;                                  \
  }                                                            \
  const Busy busy;                                             \
  const bool wanted = busy.entered() && Recording()

using namespace memtool::capture;  // NOLINT(google-build-using-namespace): wrappers are global

namespace {

using memtool::wire::Kind;
using memtool::wire::Space;
using memtool::wire::Tag;

std::uint64_t Address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

std::uint64_t Product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

Book FreeBook(Space space) {
  return {.space = space, .name = "free"};
}

// A free is written before the driver's call: see FORMAT.md.
template <class Call>
CuResult Free(bool wanted, const Book& book, std::uint64_t key, Call call) {
  const bool record = wanted && key != 0;
  if (record) {
    RecordFree(book, key);
  }
  const CuResult status = call();
  if (record && status != 0) {
    RecordFreeFailed(book, key, static_cast<std::uint64_t>(status));
  }
  return status;
}

template <class Real>
CuResult AllocAsync(Real real, bool wanted, CuPointer* pointer, std::size_t size, CuObject stream) {
  const CuResult status = real(pointer, size, stream);
  if (wanted) {
    Book book = CudaBook(Space::kDevicePointer, Kind::kDevice, "async");
    book.stream = Address(stream);
    CudaAllocated(book, status, status == 0 ? *pointer : 0, size);
  }
  return status;
}

template <class Real>
CuResult AllocFromPool(Real real, bool wanted, CuPointer* pointer, std::size_t size, CuObject pool,
                       CuObject stream) {
  const CuResult status = real(pointer, size, pool, stream);
  if (wanted) {
    Book book = CudaBook(Space::kDevicePointer, Kind::kDevice, "async");
    book.stream = Address(stream);
    book.pool = Address(pool);
    CudaAllocated(book, status, status == 0 ? *pointer : 0, size);
  }
  return status;
}

Book StreamBook(CuObject stream) {
  Book book = FreeBook(Space::kDevicePointer);
  book.stream = Address(stream);
  return book;
}

// Bytes of one element, from CUarray_format; 0 = unknown (block-compressed and planar forms).
std::uint64_t FormatBytes(int format) {
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

// Without the driver's own rounding: an estimate, and marked as one.
std::uint64_t ArrayBytes(std::size_t width, std::size_t height, std::size_t depth, int format,
                         unsigned channels) {
  const auto at_least_one = [](std::size_t n) { return n == 0 ? std::size_t{1} : n; };
  return Product(Product(Product(at_least_one(width), at_least_one(height)), at_least_one(depth)),
                 FormatBytes(format) * channels);
}

std::uint64_t MipmapBytes(CuArray3dDescriptor descriptor, unsigned levels) {
  std::uint64_t bytes = 0;
  for (unsigned level = 0; level < levels && level < 32; ++level) {
    const std::uint64_t more = ArrayBytes(descriptor.width, descriptor.height, descriptor.depth,
                                          descriptor.format, descriptor.channels);
    bytes = bytes > UINT64_MAX - more ? UINT64_MAX : bytes + more;
    descriptor.width /= 2;
    descriptor.height /= 2;
    descriptor.depth /= 2;
  }
  return bytes;
}

void Pinned(bool wanted, CuResult status, const void* pointer, std::size_t size, const char* name) {
  if (wanted && GetSettings().pinned) {
    Book book = CudaBook(Space::kHostPointer, Kind::kPinned, name);
    book.device = -1;
    CudaAllocated(book, status, Address(pointer), size);
  }
}

}  // namespace

extern "C" {

CuResult cuMemAlloc_v2(CuPointer* pointer, std::size_t size) {
  MEMTOOL_REAL(cuMemAlloc_v2);
  const CuResult status = real(pointer, size);
  if (wanted) {
    CudaAllocated(CudaBook(Space::kDevicePointer, Kind::kDevice, "device"), status,
                  status == 0 ? *pointer : 0, size);
  }
  return status;
}

CuResult cuMemAllocPitch_v2(CuPointer* pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned element_size) {
  MEMTOOL_REAL(cuMemAllocPitch_v2);
  const CuResult status = real(pointer, pitch, width, height, element_size);
  if (wanted) {
    CudaAllocated(CudaBook(Space::kDevicePointer, Kind::kDevice, "device"), status,
                  status == 0 ? *pointer : 0, Product(status == 0 ? *pitch : width, height));
  }
  return status;
}

CuResult cuMemAllocManaged(CuPointer* pointer, std::size_t size, unsigned flags) {
  MEMTOOL_REAL(cuMemAllocManaged);
  const CuResult status = real(pointer, size, flags);
  if (wanted) {
    CudaAllocated(CudaBook(Space::kDevicePointer, Kind::kManaged, "managed"), status,
                  status == 0 ? *pointer : 0, size);
  }
  return status;
}

CuResult cuMemFree_v2(CuPointer pointer) {
  MEMTOOL_REAL(cuMemFree_v2);
  return Free(wanted, FreeBook(Space::kDevicePointer), pointer, [&] { return real(pointer); });
}

CuResult cuMemAllocAsync(CuPointer* pointer, std::size_t size, CuObject stream) {
  MEMTOOL_REAL(cuMemAllocAsync);
  return AllocAsync(real, wanted, pointer, size, stream);
}

CuResult cuMemAllocAsync_ptsz(CuPointer* pointer, std::size_t size, CuObject stream) {
  MEMTOOL_REAL(cuMemAllocAsync_ptsz);
  return AllocAsync(real, wanted, pointer, size, stream);
}

CuResult cuMemAllocFromPoolAsync(CuPointer* pointer, std::size_t size, CuObject pool,
                                 CuObject stream) {
  MEMTOOL_REAL(cuMemAllocFromPoolAsync);
  return AllocFromPool(real, wanted, pointer, size, pool, stream);
}

CuResult cuMemAllocFromPoolAsync_ptsz(CuPointer* pointer, std::size_t size, CuObject pool,
                                      CuObject stream) {
  MEMTOOL_REAL(cuMemAllocFromPoolAsync_ptsz);
  return AllocFromPool(real, wanted, pointer, size, pool, stream);
}

CuResult cuMemFreeAsync(CuPointer pointer, CuObject stream) {
  MEMTOOL_REAL(cuMemFreeAsync);
  return Free(wanted, StreamBook(stream), pointer, [&] { return real(pointer, stream); });
}

CuResult cuMemFreeAsync_ptsz(CuPointer pointer, CuObject stream) {
  MEMTOOL_REAL(cuMemFreeAsync_ptsz);
  return Free(wanted, StreamBook(stream), pointer, [&] { return real(pointer, stream); });
}

CuResult cuMemHostAlloc(void** pointer, std::size_t size, unsigned flags) {
  MEMTOOL_REAL(cuMemHostAlloc);
  const CuResult status = real(pointer, size, flags);
  Pinned(wanted, status, status == 0 ? *pointer : nullptr, size, "pinned");
  return status;
}

CuResult cuMemAllocHost_v2(void** pointer, std::size_t size) {
  MEMTOOL_REAL(cuMemAllocHost_v2);
  const CuResult status = real(pointer, size);
  Pinned(wanted, status, status == 0 ? *pointer : nullptr, size, "pinned");
  return status;
}

CuResult cuMemFreeHost(void* pointer) {
  MEMTOOL_REAL(cuMemFreeHost);
  return Free(wanted && GetSettings().pinned, FreeBook(Space::kHostPointer), Address(pointer),
              [&] { return real(pointer); });
}

CuResult cuMemHostRegister_v2(void* pointer, std::size_t size, unsigned flags) {
  MEMTOOL_REAL(cuMemHostRegister_v2);
  const CuResult status = real(pointer, size, flags);
  Pinned(wanted, status, pointer, size, "registered");
  return status;
}

CuResult cuMemHostUnregister(void* pointer) {
  MEMTOOL_REAL(cuMemHostUnregister);
  return Free(wanted && GetSettings().pinned, FreeBook(Space::kHostPointer), Address(pointer),
              [&] { return real(pointer); });
}

CuResult cuArrayCreate_v2(CuObject* array, const CuArrayDescriptor* descriptor) {
  MEMTOOL_REAL(cuArrayCreate_v2);
  const CuResult status = real(array, descriptor);
  if (wanted && descriptor != nullptr) {
    CudaAllocated(CudaBook(Space::kArray, Kind::kDevice, "array"), status,
                  status == 0 ? Address(*array) : 0,
                  ArrayBytes(descriptor->width, descriptor->height, 1, descriptor->format,
                             descriptor->channels),
                  true);
  }
  return status;
}

CuResult cuArray3DCreate_v2(CuObject* array, const CuArray3dDescriptor* descriptor) {
  MEMTOOL_REAL(cuArray3DCreate_v2);
  const CuResult status = real(array, descriptor);
  if (wanted && descriptor != nullptr) {
    CudaAllocated(CudaBook(Space::kArray, Kind::kDevice, "array"), status,
                  status == 0 ? Address(*array) : 0, MipmapBytes(*descriptor, 1), true);
  }
  return status;
}

CuResult cuArrayDestroy(CuObject array) {
  MEMTOOL_REAL(cuArrayDestroy);
  return Free(wanted, FreeBook(Space::kArray), Address(array), [&] { return real(array); });
}

CuResult cuMipmappedArrayCreate(CuObject* array, const CuArray3dDescriptor* descriptor,
                                unsigned levels) {
  MEMTOOL_REAL(cuMipmappedArrayCreate);
  const CuResult status = real(array, descriptor, levels);
  if (wanted && descriptor != nullptr) {
    CudaAllocated(CudaBook(Space::kMipmap, Kind::kDevice, "mipmapped array"), status,
                  status == 0 ? Address(*array) : 0, MipmapBytes(*descriptor, levels), true);
  }
  return status;
}

CuResult cuMipmappedArrayDestroy(CuObject array) {
  MEMTOOL_REAL(cuMipmappedArrayDestroy);
  return Free(wanted, FreeBook(Space::kMipmap), Address(array), [&] { return real(array); });
}

}  // extern "C"
