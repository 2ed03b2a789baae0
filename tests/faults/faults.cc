// A preloaded library that makes calls of one kind fail, for tests: memory that is not to be had,
// reads and writes that fail or stop halfway, a clock that jumps, threads that cannot be made.
//
// MEMTOOL_FAULT="KIND CODE FROM UNTIL": of the calls of this kind, counted from 1 since main()
// began, those from FROM to UNTIL fail. CODE is the errno, or for `read` and `write` -1: at most
// one byte is transferred; for `clock` the seconds by which the clock is off.
// MEMTOOL_FAULT_SPARED=FILE: "BEGIN SIZE" in hexadecimal, a line each: functions of the program
// below which memory is given all the same, as it is to Graphviz's own code; the next call fails in
// its place.
// MEMTOOL_FAULT_COUNTS=FILE: how many calls of each kind there were, written when main() ends.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

extern "C" {
// glibc's own, which can be called before anything is looked up.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

enum Kind : unsigned {
  kMalloc,
  kRead,
  kOpen,
  kMmap,
  kStat,
  kSeek,
  kWrite,
  kClose,
  kRename,
  kRights,
  kClock,
  kThread,
  kPipe,
  kSpawn,
  kPoll,
  kWait,
  kKinds
};
constexpr std::array<const char*, kKinds> kNames{
    "malloc", "read",   "open",  "mmap",   "stat", "seek",  "write", "close",
    "rename", "rights", "clock", "thread", "pipe", "spawn", "poll",  "wait"};

using Main = int (*)(int, char**, char**);

struct Range {
  unsigned long begin = 0;
  unsigned long size = 0;
};

struct State {
  std::array<std::atomic<long>, kKinds> counts{};
  std::atomic<bool> armed{false};
  unsigned kind = kKinds;
  long code = 0;
  long from = 0;
  long until = 0;
  const char* counts_file = nullptr;
  Main real_main = nullptr;
  std::array<Range, 64> spared{};  // addresses in the program
  std::size_t spared_count = 0;
  unsigned long program = 0;  // where it was loaded
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of a library made of hooks
constinit State g_state;

// The code to fail with; 0 = go on.
long Fault(Kind kind) {
  if (!g_state.armed) {
    return 0;
  }
  const long call = ++g_state.counts[kind];
  return kind == g_state.kind && call >= g_state.from && call <= g_state.until ? g_state.code : 0;
}

bool Fails(Kind kind) {
  const long code = Fault(kind);
  if (code != 0) {
    errno = static_cast<int>(code);
  }
  return code != 0;
}

// Called by a library that goes on with a null pointer, or below a function that is to be spared.
bool IsSpared(void* caller) {
  Dl_info info{};
  if (::dladdr(caller, &info) != 0 && (std::strstr(info.dli_fname, "libcgraph.so") != nullptr ||
                                       std::strstr(info.dli_fname, "libcdt.so") != nullptr)) {
    return true;
  }
  std::array<void*, 48> frames{};
  const int count = g_state.spared_count == 0 ? 0 : ::backtrace(frames.data(), frames.size());
  for (int i = 0; i < count; ++i) {
    const auto at = reinterpret_cast<unsigned long>(frames[static_cast<std::size_t>(i)]);
    for (std::size_t k = 0; k < g_state.spared_count; ++k) {
      // One past the end too: a function that ends in a call.
      const unsigned long begin = g_state.program + g_state.spared[k].begin;
      if (at > begin && at <= begin + g_state.spared[k].size) {
        return true;
      }
    }
  }
  return false;
}

bool FailsMemory(void* caller) {
  if (Fault(kMalloc) == 0) {
    return false;
  }
  const bool was = g_state.armed.exchange(false);
  const bool spared = IsSpared(caller);
  g_state.armed = was;
  if (spared) {
    if (g_state.from == g_state.until) {
      g_state.from = ++g_state.until;
    }
    return false;
  }
  errno = static_cast<int>(g_state.code);
  return true;
}

// The next definition of a function. Looking it up may allocate, which is not counted.
template <class Function>
Function Next(const char* name, Function& known) {
  if (known == nullptr) {
    const bool was = g_state.armed.exchange(false);
    known = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
    g_state.armed = was;
  }
  return known;
}

int Opened(int folder, const char* path, int flags, mode_t mode) {
  return Fails(kOpen) ? -1 : static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

void WriteCounts() {
  g_state.armed = false;
  if (g_state.counts_file == nullptr) {
    return;
  }
  std::FILE* file = std::fopen(g_state.counts_file, "w");
  if (file == nullptr) {
    std::abort();
  }
  for (unsigned kind = 0; kind < kKinds; ++kind) {
    std::fprintf(file, "%s %ld\n", kNames[kind], g_state.counts[kind].load());
  }
  if (std::fclose(file) != 0) {
    std::abort();
  }
}

void ReadFault(const char* text) {
  if (text == nullptr) {
    return;
  }
  std::array<char, 16> name{};
  // NOLINTNEXTLINE(cert-err34-c): numbers of a test
  const int read = std::sscanf(text, "%15s %ld %ld %ld", name.data(), &g_state.code, &g_state.from,
                               &g_state.until);
  g_state.kind = 0;
  while (g_state.kind < kKinds && std::strcmp(kNames[g_state.kind], name.data()) != 0) {
    ++g_state.kind;
  }
  if (read != 4 || g_state.kind == kKinds) {
    std::abort();
  }
}

void ReadSpared(const char* path) {
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "r");
  if (file == nullptr) {
    return;
  }
  Range range;
  // NOLINTNEXTLINE(cert-err34-c): numbers of a test
  while (g_state.spared_count < g_state.spared.size() &&
         std::fscanf(file, "%lx %lx", &range.begin, &range.size) == 2) {
    g_state.spared[g_state.spared_count++] = range;
  }
  std::fclose(file);
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* /*data*/) {
        g_state.program = info->dlpi_addr;  // the program comes first
        return 1;
      },
      nullptr);
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), frame.size());  // the first call loads a library
}

int CountedMain(int count, char** arguments, char** environment) {
  ReadFault(std::getenv("MEMTOOL_FAULT"));
  ReadSpared(std::getenv("MEMTOOL_FAULT_SPARED"));
  g_state.counts_file = std::getenv("MEMTOOL_FAULT_COUNTS");
  ::unsetenv("LD_PRELOAD");  // programs that are started from here have no faults
  g_state.armed = true;
  const int status = g_state.real_main(count, arguments, environment);
  WriteCounts();
  return status;
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept {
  return FailsMemory(__builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return FailsMemory(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) noexcept {
  return FailsMemory(__builtin_return_address(0)) ? nullptr : __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return FailsMemory(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return FailsMemory(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  *memory = FailsMemory(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

ssize_t read(int fd, void* buffer, std::size_t size) {
  static decltype(&::read) next = nullptr;
  const long code = Fault(kRead);
  if (code > 0) {
    errno = static_cast<int>(code);
    return -1;
  }
  return Next("read", next)(fd, buffer, code < 0 && size > 1 ? 1 : size);
}

// Standard error stays whole: what it says is what the test looks at.
ssize_t write(int fd, const void* buffer, std::size_t size) {
  static decltype(&::write) next = nullptr;
  const long code = fd == STDERR_FILENO ? 0 : Fault(kWrite);
  if (code > 0) {
    errno = static_cast<int>(code);
    return -1;
  }
  return Next("write", next)(fd, buffer, code < 0 && size > 1 ? 1 : size);
}

// What is not given when nothing can be made is read all the same: the kernel does not look at it.
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, mode_t);
  va_end(more);
  return Opened(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, mode_t);
  va_end(more);
  return Opened(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, mode_t);
  va_end(more);
  return Opened(folder, path, flags, mode);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  static decltype(&::memfd_create) next = nullptr;
  return Fails(kOpen) ? -1 : Next("memfd_create", next)(name, flags);
}
FILE* fopen(const char* path, const char* mode) {
  static decltype(&::fopen) next = nullptr;
  return Fails(kOpen) ? nullptr : Next("fopen", next)(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  static decltype(&::fopen) next = nullptr;
  return Fails(kOpen) ? nullptr : Next("fopen64", next)(path, mode);
}

void* mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  static decltype(&::mmap) next = nullptr;
  return Fails(kMmap) ? MAP_FAILED : Next("mmap", next)(at, size, protection, flags, fd, offset);
}

int stat(const char* path, struct stat* status) noexcept {
  static int (*next)(const char*, struct stat*) = nullptr;
  return Fails(kStat) ? -1 : Next("stat", next)(path, status);
}
int lstat(const char* path, struct stat* status) noexcept {
  static int (*next)(const char*, struct stat*) = nullptr;
  return Fails(kStat) ? -1 : Next("lstat", next)(path, status);
}
int fstat(int fd, struct stat* status) noexcept {
  static int (*next)(int, struct stat*) = nullptr;
  return Fails(kStat) ? -1 : Next("fstat", next)(fd, status);
}
int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  static decltype(&::faccessat) next = nullptr;
  return Fails(kStat) ? -1 : Next("faccessat", next)(folder, path, mode, flags);
}
off_t lseek(int fd, off_t offset, int whence) noexcept {
  static decltype(&::lseek) next = nullptr;
  return Fails(kSeek) ? -1 : Next("lseek", next)(fd, offset, whence);
}

// Closed all the same, as Linux does.
int close(int fd) {
  const bool fails = Fails(kClose);
  const int code = errno;
  const int closed = static_cast<int>(::syscall(SYS_close, fd));
  errno = fails ? code : errno;
  return fails ? -1 : closed;
}

int renameat(int from, const char* old, int to, const char* name) noexcept {
  static decltype(&::renameat) next = nullptr;
  return Fails(kRename) ? -1 : Next("renameat", next)(from, old, to, name);
}
int fchmod(int fd, mode_t mode) noexcept {
  static decltype(&::fchmod) next = nullptr;
  return Fails(kRights) ? -1 : Next("fchmod", next)(fd, mode);
}
int fchown(int fd, uid_t user, gid_t group) noexcept {
  static decltype(&::fchown) next = nullptr;
  return Fails(kRights) ? -1 : Next("fchown", next)(fd, user, group);
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static decltype(&::clock_gettime) next = nullptr;
  const int failed = Next("clock_gettime", next)(clock, now);
  now->tv_sec += Fault(kClock);
  return failed;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*start)(void*),
                   void* with) noexcept {
  static decltype(&::pthread_create) next = nullptr;
  const long code = Fault(kThread);
  return code != 0 ? static_cast<int>(code)
                   : Next("pthread_create", next)(thread, how, start, with);
}

int pipe2(int* ends, int flags) noexcept {
  static decltype(&::pipe2) next = nullptr;
  return Fails(kPipe) ? -1 : Next("pipe2", next)(ends, flags);
}
// NOLINTNEXTLINE(readability-function-size): as the system declares it
int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* how, char* const* arguments, char* const* environment) {
  static decltype(&::posix_spawnp) next = nullptr;
  const long code = Fault(kSpawn);
  return code != 0 ? static_cast<int>(code)
                   : Next("posix_spawnp", next)(child, file, actions, how, arguments, environment);
}
pid_t fork() noexcept {
  static decltype(&::fork) next = nullptr;
  return Fails(kSpawn) ? -1 : Next("fork", next)();
}
int poll(pollfd* files, nfds_t count, int timeout) {
  static decltype(&::poll) next = nullptr;
  return Fails(kPoll) ? -1 : Next("poll", next)(files, count, timeout);
}
pid_t waitpid(pid_t child, int* status, int options) {
  static decltype(&::waitpid) next = nullptr;
  return Fails(kWait) ? -1 : Next("waitpid", next)(child, status, options);
}

// NOLINTNEXTLINE(readability-function-size): as the C library declares it
int __libc_start_main(Main main, int count, char** arguments, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack) {
  static decltype(&__libc_start_main) next = nullptr;
  g_state.real_main = main;
  return Next("__libc_start_main", next)(CountedMain, count, arguments, init, fini, loader_fini,
                                         stack);
}

}  // extern "C"
