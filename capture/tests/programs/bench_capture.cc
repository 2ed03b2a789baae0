// usage: bench_capture [STACKS]
//
// Prints the median ns of cuMemAlloc and of cuMemFree, 40 frames deep, the number of events, and
// the resident memory in KiB: see tests/bench/capture_bench.py. With STACKS: allocations from that
// many distinct stacks in turn, and a fifth number, the mean ns of those that were the first of
// their stack.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "programs/driver.h"

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

// One of two frames at each of 16 levels, so that `path` decides the stack.
struct Walk {
  std::uint32_t path = 0;
  std::vector<double>* alloc = nullptr;
  std::vector<double>* free = nullptr;
};

[[gnu::noinline]] void Leaf(const Walk& walk) {
  Pointer pointer = 0;
  const auto begin = std::chrono::steady_clock::now();
  cuMemAlloc_v2(&pointer, 2 << 20U);
  const auto middle = std::chrono::steady_clock::now();
  cuMemFree_v2(pointer);
  const auto end = std::chrono::steady_clock::now();
  walk.alloc->push_back(Nanos(middle - begin) * kBatch);
  walk.free->push_back(Nanos(end - middle) * kBatch);
  asm volatile("" ::: "memory");
}

void Step(int level, const Walk& walk);
[[gnu::noinline]] void Left(int level, const Walk& walk) {
  Step(level, walk);
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void Right(int level, const Walk& walk) {
  Step(level, walk);
  asm volatile("" ::: "memory");
}
[[gnu::always_inline]] inline void Next(int level, const Walk& walk) {
  if ((walk.path >> static_cast<unsigned>(level) & 1U) != 0) {
    Right(level, walk);
  } else {
    Left(level, walk);
  }
}
void Step(int level, const Walk& walk) {
  if (level == 0) {
    Leaf(walk);
  } else {
    Next(level - 1, walk);
  }
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] void Many(int depth, std::uint32_t stacks, Times& times, double* first) {
  if (depth > 0) {
    Many(depth - 1, stacks, times, first);
    asm volatile("" ::: "memory");
    return;
  }
  constexpr int kRounds = 10;
  for (int round = 0; round <= kRounds; ++round) {
    std::vector<double> allocs;
    std::vector<double> frees;
    for (std::uint32_t path = 0; path < stacks; ++path) {
      Step(16, {.path = path, .alloc = &allocs, .free = &frees});
    }
    if (round == 0) {
      *first = std::accumulate(allocs.begin(), allocs.end(), 0.0) / stacks;
    } else {
      times.alloc.insert(times.alloc.end(), allocs.begin(), allocs.end());
      times.free.insert(times.free.end(), frees.begin(), frees.end());
    }
  }
}

// KiB. Not getrusage: its figure includes what the parent held before this program was executed.
long PeakResident() {
  long peak = 0;
  if (FILE* status = fopen("/proc/self/status", "r"); status != nullptr) {
    std::array<char, 256> line{};
    while (fgets(line.data(), line.size(), status) != nullptr) {
      if (sscanf(line.data(), "VmHWM: %ld", &peak) == 1) {
        break;
      }
    }
    fclose(status);
  }
  return peak;
}

double Median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int count, char** words) {
  void* context = nullptr;
  cuInit(0);
  cuCtxCreate_v2(&context, 0, 0);
  Times times;
  double first = 0;
  const auto stacks =
      count > 1 ? static_cast<std::uint32_t>(strtoul(words[1], nullptr, 10)) : std::uint32_t{0};
  if (stacks > 0) {
    Many(4, stacks, times, &first);
  } else {
    Deeper(35, times);
  }
  const std::size_t events =
      stacks > 0 ? 2 * (times.alloc.size() + stacks) : std::size_t{2} * kBatch * kBatches;
  printf("%.1f %.1f %zu %ld %.1f\n", Median(times.alloc), Median(times.free), events,
         PeakResident(), first);
  return 0;
}
