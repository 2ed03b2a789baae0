// Every call of CUDA that takes or gives back device memory, each with what the driver has free
// afterwards: what the capture library's log is compared with.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace {

void Report(const char* step, long long asked) {
  cudaDeviceSynchronize();
  std::size_t free = 0;
  std::size_t total = 0;
  cudaMemGetInfo(&free, &total);
  std::printf("%s,%lld,%zu\n", step, asked, total - free);
}

void Check(const char* what, int status) {
  if (status != 0) {
    std::printf("# %s: %d\n", what, status);
  }
}

constexpr std::size_t kMiB = std::size_t{1} << 20U;

}  // namespace

int main() {
  std::printf("step,bytes,device_used\n");
  cudaFree(nullptr);
  Report("context", 0);
  void* plain = nullptr;
  Check("cudaMalloc", cudaMalloc(&plain, 500 * kMiB));
  Report("cudaMalloc", 500 * kMiB);
  void* pitched = nullptr;
  std::size_t pitch = 0;
  Check("cudaMallocPitch", cudaMallocPitch(&pitched, &pitch, 1000, 200000));
  Report("cudaMallocPitch", static_cast<long long>(pitch) * 200000);
  cudaPitchedPtr cube{};
  Check("cudaMalloc3D", cudaMalloc3D(&cube, make_cudaExtent(1000, 1000, 100)));
  Report("cudaMalloc3D", static_cast<long long>(cube.pitch) * 1000 * 100);
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  Check("cudaMallocArray", cudaMallocArray(&array, &format, 8192, 8192));
  Report("cudaMallocArray", 8192LL * 8192 * 4);
  cudaMipmappedArray_t mipmap = nullptr;
  Check("cudaMallocMipmappedArray",
        cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(4096, 4096, 0), 5));
  Report("cudaMallocMipmappedArray", -1);
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  void* ordered = nullptr;
  Check("cudaMallocAsync", cudaMallocAsync(&ordered, 300 * kMiB, stream));
  Report("cudaMallocAsync", 300 * kMiB);
  Check("cudaFreeAsync", cudaFreeAsync(ordered, stream));
  Report("cudaFreeAsync", -300 * static_cast<long long>(kMiB));
  cudaMemPool_t pool = nullptr;
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  Check("cudaMemPoolCreate", cudaMemPoolCreate(&pool, &props));
  void* pooled = nullptr;
  Check("cudaMallocFromPoolAsync", cudaMallocFromPoolAsync(&pooled, 200 * kMiB, pool, stream));
  Report("cudaMallocFromPoolAsync", 200 * kMiB);
  void* host = nullptr;
  Check("cudaHostAlloc", cudaHostAlloc(&host, 100 * kMiB, cudaHostAllocDefault));
  Report("cudaHostAlloc", 0);
  void* managed = nullptr;
  Check("cudaMallocManaged", cudaMallocManaged(&managed, 50 * kMiB));
  Report("cudaMallocManaged", 0);
  // Virtual memory: reserve, create, map, unmap, release.
  CUmemAllocationProp place{};
  place.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  place.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  Check("cuMemAddressReserve", cuMemAddressReserve(&range, 1024 * kMiB, 0, 0, 0));
  Check("cuMemCreate", cuMemCreate(&handle, 400 * kMiB, &place, 0));
  Report("cuMemCreate", 400 * kMiB);
  Check("cuMemMap", cuMemMap(range, 400 * kMiB, 0, handle, 0));
  CUmemAccessDesc access{place.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  Check("cuMemSetAccess", cuMemSetAccess(range, 400 * kMiB, &access, 1));
  Report("cuMemMap", 0);
  Check("cuMemRelease", cuMemRelease(handle));
  Report("cuMemRelease (mapped)", 0);
  // A graph with memory nodes.
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  void* in_graph = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  Check("cudaMallocAsync in capture", cudaMallocAsync(&in_graph, 150 * kMiB, stream));
  cudaMemsetAsync(in_graph, 0, 150 * kMiB, stream);
  cudaFreeAsync(in_graph, stream);
  Check("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph));
  Check("cudaGraphInstantiate", cudaGraphInstantiate(&exec, graph, 0));
  Report("graph instantiated", 0);
  Check("cudaGraphLaunch", cudaGraphLaunch(exec, stream));
  Report("graph launched", 150 * kMiB);
  Check("cudaDeviceGraphMemTrim", cudaDeviceGraphMemTrim(0));
  Report("graph memory trimmed", -150 * static_cast<long long>(kMiB));
  cudaFree(plain);
  Report("cudaFree", -500 * static_cast<long long>(kMiB));
  cuMemUnmap(range, 400 * kMiB);
  Report("cuMemUnmap", -400 * static_cast<long long>(kMiB));
  cudaFreeArray(array);
  cudaFreeMipmappedArray(mipmap);
  Report("cudaFreeArray, cudaFreeMipmappedArray", -1);
  cudaFree(pitched);
  cudaFree(cube.ptr);
  cudaFreeAsync(pooled, stream);
  cudaStreamSynchronize(stream);
  cudaMemPoolDestroy(pool);
  Report("pool destroyed", -200 * static_cast<long long>(kMiB));
  cudaFreeHost(host);
  cudaFree(managed);
  void* refused = nullptr;
  Check("a cudaMalloc of 1 TiB is refused", cudaMalloc(&refused, kMiB << 20U) == 0);
  std::printf("# %s\n", cudaGetErrorString(cudaGetLastError()));
  cudaDeviceReset();
  return 0;
}
