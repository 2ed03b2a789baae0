// Prints the median ns of cuMemAlloc and of cuMemFree, 40 frames deep, the number of events, and
// the resident memory in KiB: see tests/bench/capture_bench.py.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "driver.h"

extern "C" {
int cuInit(unsigned);
int cuCtxCreate_v2(void**, unsigned, int);
int cuMemAlloc_v2(Pointer*, std::size_t);
int cuMemFree_v2(Pointer);
}

namespace {

constexpr int kBatch = 64;
constexpr int kBatches = 3000;

double Nanos(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::nano>(time).count() / kBatch;
}

struct Times {
  std::vector<double> alloc;
  std::vector<double> free;
};

[[gnu::noinline]] void Measure(Times& times) {
  std::array<Pointer, kBatch> pointers{};
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto begin = std::chrono::steady_clock::now();
    for (Pointer& pointer : pointers) {
      cuMemAlloc_v2(&pointer, 2 << 20U);
    }
    const auto middle = std::chrono::steady_clock::now();
    for (const Pointer pointer : pointers) {
      cuMemFree_v2(pointer);
    }
    times.alloc.push_back(Nanos(middle - begin));
    times.free.push_back(Nanos(std::chrono::steady_clock::now() - middle));
  }
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] void Deeper(int depth, Times& times) {
  if (depth == 0) {
    Measure(times);
  } else {
    Deeper(depth - 1, times);
  }
  asm volatile("" ::: "memory");
}

double Median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  void* context = nullptr;
  cuInit(0);
  cuCtxCreate_v2(&context, 0, 0);
  Times times;
  Deeper(35, times);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  printf("%.1f %.1f %d %ld\n", Median(times.alloc), Median(times.free), 2 * kBatch * kBatches,
         usage.ru_maxrss);
  return 0;
}
