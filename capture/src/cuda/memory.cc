// Wrappers of plain, pitched, managed, pinned and asynchronous allocations, and of arrays.
#include "base/settings.h"
#include "cuda/call.h"
#include "cuda/wrappers.h"
#include "providers/wrapping.h"

using namespace memtool::capture;  // NOLINT(google-build-using-namespace): wrappers are global

namespace {

using memtool::wire::GraphOp;
using memtool::wire::Kind;
using memtool::wire::Space;

// A stream, and which of the two forms of a function was called with it.
struct Stream {
  CuObject object;
  bool per_thread;
};

bool Captured(bool wanted, const Stream& stream) {
  return wanted && CudaCapturing(stream.object, stream.per_thread);
}

template <class Real>
CuResult AllocAsync(Real real, bool wanted, CuPointer* pointer, std::size_t size,
                    const Stream& stream) {
  const CuResult status = real(pointer, size, stream.object);
  if (status == 0 && Captured(wanted, stream)) {
    CudaGraphNode(GraphOp::kAlloc, *pointer, size);
  } else if (wanted) {
    Attributes attributes = CudaAttributes(Space::kDevicePointer, Kind::kDevice, "async");
    attributes.stream = Address(stream.object);
    CudaAllocated(attributes, status, status == 0 ? *pointer : 0, size);
  }
  return status;
}

template <class Real>
CuResult AllocFromPool(Real real, bool wanted, CuPointer* pointer, std::size_t size, CuObject pool,
                       const Stream& stream) {
  const CuResult status = real(pointer, size, pool, stream.object);
  if (status == 0 && Captured(wanted, stream)) {
    CudaGraphNode(GraphOp::kAlloc, *pointer, size);
  } else if (wanted) {
    Attributes attributes = CudaAttributes(Space::kDevicePointer, Kind::kDevice, "async");
    attributes.stream = Address(stream.object);
    attributes.pool = Address(pool);
    CudaAllocated(attributes, status, status == 0 ? *pointer : 0, size);
  }
  return status;
}

template <class Real>
CuResult FreeAsync(Real real, bool wanted, CuPointer pointer, const Stream& stream) {
  if (Captured(wanted, stream)) {
    const CuResult status = real(pointer, stream.object);
    if (status == 0) {
      CudaGraphNode(GraphOp::kFree, pointer, 0);
    }
    return status;
  }
  return RecordedFree(wanted, StreamFreeAttributes(stream.object), pointer,
                      [&] { return real(pointer, stream.object); });
}

std::uint64_t MipmapBytes(CuArray3dDescriptor descriptor, unsigned levels) {
  std::uint64_t bytes = 0;
  for (unsigned level = 0; level < levels && level < 32; ++level) {
    const std::uint64_t more = ArrayBytes({descriptor.width, descriptor.height, descriptor.depth},
                                          FormatBytes(descriptor.format) * descriptor.channels);
    bytes = bytes > UINT64_MAX - more ? UINT64_MAX : bytes + more;
    descriptor.width /= 2;
    descriptor.height /= 2;
    descriptor.depth /= 2;
  }
  return bytes;
}

void Pinned(bool wanted, CuResult status, const void* pointer, std::size_t size, const char* name) {
  if (wanted && GetSettings().pinned) {
    Attributes attributes = CudaAttributes(Space::kHostPointer, Kind::kPinned, name);
    attributes.device = -1;
    CudaAllocated(attributes, status, Address(pointer), size);
  }
}

}  // namespace

extern "C" {

CuResult cuMemAlloc_v2(CuPointer* pointer, std::size_t size) {
  MEMTOOL_CUDA_REAL(cuMemAlloc_v2);
  const CuResult status = real(pointer, size);
  if (wanted) {
    CudaAllocated(CudaAttributes(Space::kDevicePointer, Kind::kDevice, "device"), status,
                  status == 0 ? *pointer : 0, size);
  }
  return status;
}

CuResult cuMemAllocPitch_v2(CuPointer* pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned element_size) {
  MEMTOOL_CUDA_REAL(cuMemAllocPitch_v2);
  const CuResult status = real(pointer, pitch, width, height, element_size);
  if (wanted) {
    CudaAllocated(CudaAttributes(Space::kDevicePointer, Kind::kDevice, "device"), status,
                  status == 0 ? *pointer : 0, Product(status == 0 ? *pitch : width, height));
  }
  return status;
}

CuResult cuMemAllocManaged(CuPointer* pointer, std::size_t size, unsigned flags) {
  MEMTOOL_CUDA_REAL(cuMemAllocManaged);
  const CuResult status = real(pointer, size, flags);
  if (wanted) {
    CudaAllocated(CudaAttributes(Space::kDevicePointer, Kind::kManaged, "managed"), status,
                  status == 0 ? *pointer : 0, size);
  }
  return status;
}

CuResult cuMemFree_v2(CuPointer pointer) {
  MEMTOOL_CUDA_REAL(cuMemFree_v2);
  return RecordedFree(wanted, FreeAttributes(Space::kDevicePointer), pointer,
                      [&] { return real(pointer); });
}

CuResult cuMemAllocAsync(CuPointer* pointer, std::size_t size, CuObject stream) {
  MEMTOOL_CUDA_REAL(cuMemAllocAsync);
  return AllocAsync(real, wanted, pointer, size, {stream, false});
}

CuResult cuMemAllocAsync_ptsz(CuPointer* pointer, std::size_t size, CuObject stream) {
  MEMTOOL_CUDA_REAL(cuMemAllocAsync_ptsz);
  return AllocAsync(real, wanted, pointer, size, {stream, true});
}

CuResult cuMemAllocFromPoolAsync(CuPointer* pointer, std::size_t size, CuObject pool,
                                 CuObject stream) {
  MEMTOOL_CUDA_REAL(cuMemAllocFromPoolAsync);
  return AllocFromPool(real, wanted, pointer, size, pool, {stream, false});
}

CuResult cuMemAllocFromPoolAsync_ptsz(CuPointer* pointer, std::size_t size, CuObject pool,
                                      CuObject stream) {
  MEMTOOL_CUDA_REAL(cuMemAllocFromPoolAsync_ptsz);
  return AllocFromPool(real, wanted, pointer, size, pool, {stream, true});
}

CuResult cuMemFreeAsync(CuPointer pointer, CuObject stream) {
  MEMTOOL_CUDA_REAL(cuMemFreeAsync);
  return FreeAsync(real, wanted, pointer, {stream, false});
}

CuResult cuMemFreeAsync_ptsz(CuPointer pointer, CuObject stream) {
  MEMTOOL_CUDA_REAL(cuMemFreeAsync_ptsz);
  return FreeAsync(real, wanted, pointer, {stream, true});
}

CuResult cuMemHostAlloc(void** pointer, std::size_t size, unsigned flags) {
  MEMTOOL_CUDA_REAL(cuMemHostAlloc);
  const CuResult status = real(pointer, size, flags);
  Pinned(wanted, status, status == 0 ? *pointer : nullptr, size, "pinned");
  return status;
}

CuResult cuMemAllocHost_v2(void** pointer, std::size_t size) {
  MEMTOOL_CUDA_REAL(cuMemAllocHost_v2);
  const CuResult status = real(pointer, size);
  Pinned(wanted, status, status == 0 ? *pointer : nullptr, size, "pinned");
  return status;
}

CuResult cuMemFreeHost(void* pointer) {
  MEMTOOL_CUDA_REAL(cuMemFreeHost);
  return RecordedFree(wanted && GetSettings().pinned, FreeAttributes(Space::kHostPointer),
                      Address(pointer), [&] { return real(pointer); });
}

CuResult cuMemHostRegister_v2(void* pointer, std::size_t size, unsigned flags) {
  MEMTOOL_CUDA_REAL(cuMemHostRegister_v2);
  const CuResult status = real(pointer, size, flags);
  Pinned(wanted, status, pointer, size, "registered");
  return status;
}

CuResult cuMemHostUnregister(void* pointer) {
  MEMTOOL_CUDA_REAL(cuMemHostUnregister);
  return RecordedFree(wanted && GetSettings().pinned, FreeAttributes(Space::kHostPointer),
                      Address(pointer), [&] { return real(pointer); });
}

CuResult cuArrayCreate_v2(CuObject* array, const CuArrayDescriptor* descriptor) {
  MEMTOOL_CUDA_REAL(cuArrayCreate_v2);
  const CuResult status = real(array, descriptor);
  if (wanted && descriptor != nullptr) {
    CudaAllocated(CudaAttributes(Space::kArray, Kind::kDevice, "array"), status,
                  status == 0 ? Address(*array) : 0,
                  ArrayBytes({descriptor->width, descriptor->height, 1},
                             FormatBytes(descriptor->format) * descriptor->channels),
                  true);
  }
  return status;
}

CuResult cuArray3DCreate_v2(CuObject* array, const CuArray3dDescriptor* descriptor) {
  MEMTOOL_CUDA_REAL(cuArray3DCreate_v2);
  const CuResult status = real(array, descriptor);
  if (wanted && descriptor != nullptr) {
    CudaAllocated(CudaAttributes(Space::kArray, Kind::kDevice, "array"), status,
                  status == 0 ? Address(*array) : 0, MipmapBytes(*descriptor, 1), true);
  }
  return status;
}

CuResult cuArrayDestroy(CuObject array) {
  MEMTOOL_CUDA_REAL(cuArrayDestroy);
  return RecordedFree(wanted, FreeAttributes(Space::kArray), Address(array),
                      [&] { return real(array); });
}

CuResult cuMipmappedArrayCreate(CuObject* array, const CuArray3dDescriptor* descriptor,
                                unsigned levels) {
  MEMTOOL_CUDA_REAL(cuMipmappedArrayCreate);
  const CuResult status = real(array, descriptor, levels);
  if (wanted && descriptor != nullptr) {
    CudaAllocated(CudaAttributes(Space::kMipmap, Kind::kDevice, "mipmapped array"), status,
                  status == 0 ? Address(*array) : 0, MipmapBytes(*descriptor, levels), true);
  }
  return status;
}

CuResult cuMipmappedArrayDestroy(CuObject array) {
  MEMTOOL_CUDA_REAL(cuMipmappedArrayDestroy);
  return RecordedFree(wanted, FreeAttributes(Space::kMipmap), Address(array),
                      [&] { return real(array); });
}

}  // extern "C"
