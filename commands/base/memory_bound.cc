#include "base/memory_bound.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/cgroup_limit.h"

// Sanitizers' own tables are larger than any bound. GCC and clang have different words for them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define MEMTOOL_SANITIZED
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#    define MEMTOOL_SANITIZED
#  endif
#endif

namespace memtool::commands {

namespace {

constexpr std::uint64_t kMinBound = 4ULL << 30U;

std::uint64_t MachineMemory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
             : 0;
}

// What setrlimit allows; 0 without a limit.
std::uint64_t LimitOf(decltype(RLIMIT_DATA) resource) {
  rlimit limit{};
  const bool known = ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? limit.rlim_cur : 0;
}

// RLIMIT_DATA counts private writable memory: the heap and what malloc maps, but neither mapped
// inputs nor address space that is only reserved.
void SetSoftLimit(rlim_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) == 0) {
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    ::setrlimit(RLIMIT_DATA, &limit);
  }
}

bool& IsOwnProcess() {
  static bool is_own = false;
  return is_own;
}

}  // namespace

void OwnProcess() {
  IsOwnProcess() = true;
}

std::uint64_t DefaultMemoryBound() {
  const std::uint64_t bound = std::max(kMinBound, MachineMemory() / 4 * 3);
  // The kernel kills what goes beyond its group's limit: there is no least bound then.
  const auto group = CgroupLimit();
  return group ? std::min(bound, *group / 4 * 3) : bound;
}

void BoundMemory([[maybe_unused]] std::uint64_t bytes) {
#ifndef MEMTOOL_SANITIZED
  if (IsOwnProcess()) {
    SetSoftLimit(bytes);
  }
#endif
}

std::uint64_t MemoryBound() {
  const std::uint64_t data = LimitOf(RLIMIT_DATA);
  const std::uint64_t space = LimitOf(RLIMIT_AS);  // ulimit -v
  return data == 0 || space == 0 ? std::max(data, space) : std::min(data, space);
}

Unbounded::Unbounded() : before_(LimitOf(RLIMIT_DATA)) {
  SetSoftLimit(RLIM_INFINITY);
}

Unbounded::~Unbounded() {
  if (before_ != 0) {
    SetSoftLimit(before_);
  }
}

}  // namespace memtool::commands
