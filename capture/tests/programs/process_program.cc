// usage: process_program SCENARIO: what programs do to a library that lives in them.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "memtool_capture.h"
#include "programs/driver.h"

namespace {

Driver g;

void Check(bool holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "process_program: %s\n", what);
    _exit(9);
  }
}

void NewContext() {
  void* context = nullptr;
  Check(g.cuInit(0) == 0 && g.cuCtxCreate_v2(&context, 0, 0) == 0, "no context");
}

Pointer Alloc(std::size_t size) {
  Pointer pointer = 0;
  Check(g.cuMemAlloc_v2(&pointer, size) == 0, "cuMemAlloc");
  return pointer;
}

void AllocAndFree(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    Check(g.cuMemFree_v2(Alloc(4096)) == 0, "cuMemFree");
  }
}

void WaitFor(pid_t child) {
  int status = 0;
  Check(waitpid(child, &status, 0) == child && status == 0, "child");
}

// Every descriptor is taken over by a file of the user's; `moved`: the log has another name then.
void Descriptors(bool moved) {
  NewContext();
  Alloc(1 << 20U);
  if (moved) {
    const char* (*log)() = memtool_capture_log_path;
    Check(log != nullptr && rename(log(), "moved.mtcap") == 0, "rename");
  }
  const int precious = open("precious", O_RDWR | O_CREAT | O_TRUNC, 0600);
  Check(precious >= 0 && write(precious, "precious", 8) == 8, "a file of the user's");
  Check(chdir("/") == 0, "chdir");
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int top = limit.rlim_cur < 1100 ? static_cast<int>(limit.rlim_cur) : 1100;
  for (int fd = 3; fd < top; ++fd) {
    Check(fd == precious || dup2(precious, fd) == fd, "dup2");
  }
  AllocAndFree(60000);
  const pid_t child = fork();
  if (child == 0) {
    Alloc(4096);
    for (int fd = 3; fd < top; ++fd) {
      Check(fcntl(fd, F_GETFD) >= 0, "a descriptor of the user's was closed");
    }
    _exit(0);
  }
  WaitFor(child);
}

pid_t BareFork() {
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

// Children that the C library does not know about.
void BareForks() {
  NewContext();
  for (int i = 0; i < 10; ++i) {
    Alloc(4096);
  }
  const pid_t child = BareFork();
  if (child == 0) {
    for (int i = 0; i < 5; ++i) {
      Alloc(8192);
    }
    exit(0);
  }
  WaitFor(child);
  AllocAndFree(60000);
  // While another thread is inside the library. The fake driver's lock would stay held in such a
  // child, which therefore reports an allocation of its own.
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (void* place = &done; !done;) {
      MEMTOOL_CAPTURE(record_alloc)("arena", place, 4096, 0, nullptr);
      MEMTOOL_CAPTURE(record_free)("arena", place);
    }
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = BareFork();
    if (child == 0) {
      MEMTOOL_CAPTURE(record_alloc)("arena", &done, 12345, 0, nullptr);
      _exit(0);
    }
    WaitFor(child);
  }
  done = true;
  other.join();
}

volatile sig_atomic_t g_child = 0;

void Exits(int /*signal*/) {
  exit(7);
}
void Forks(int /*signal*/) {
  if (fork() == 0) {
    g_child = 1;
  }
}
void Marks(int /*signal*/) {
  MEMTOOL_CAPTURE(push_tag)("handler");
  MEMTOOL_CAPTURE(mark)("tick", 1);
  MEMTOOL_CAPTURE(pop_tag)();
  memtool_capture_totals totals{};
  MEMTOOL_CAPTURE(stats)(&totals, sizeof totals);
}

// A preloaded library raises SIGUSR1 inside the capture library.
void Interrupted(void (*handler)(int)) {
  signal(SIGUSR1, handler);
  NewContext();
  for (int i = 0; i < 60000; ++i) {
    AllocAndFree(1);
    if (g_child != 0) {
      Alloc(1 << 20U);
      Alloc(1 << 20U);
      exit(0);
    }
  }
  while (wait(nullptr) > 0) {
  }
}

void* CancelledAlloc(void* context) {
  g.cuCtxSetCurrent(context);
  pthread_cancel(pthread_self());
  Alloc(4096);
  pthread_testcancel();
  return nullptr;
}

// The thread's allocation is the first: it makes the log.
void Cancelled() {
  void* context = nullptr;
  Check(g.cuInit(0) == 0 && g.cuCtxCreate_v2(&context, 0, 0) == 0, "no context");
  pthread_t thread{};
  void* result = nullptr;
  Check(pthread_create(&thread, nullptr, CancelledAlloc, context) == 0, "thread");
  Check(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "cancelled");
  Alloc(8192);
}

void* Place(std::size_t n) {
  return reinterpret_cast<void*>(n << 12U);
}

// More streams than the table of attribute sets holds.
void ManyStreams() {
  NewContext();
  for (std::size_t i = 1; i <= 25000; ++i) {
    MEMTOOL_CAPTURE(record_alloc)("arena", Place(i), 4096, 0, Place(i));
    MEMTOOL_CAPTURE(record_free)("arena", Place(i));
  }
  AllocAndFree(1);
  std::thread([] { MEMTOOL_CAPTURE(record_alloc)("arena", Place(1), 77, 0, nullptr); }).join();
}

// More tags and domains than there is room for, and deeper ones.
void Tags() {
  NewContext();
  for (int i = 0; i < 13000; ++i) {
    MEMTOOL_CAPTURE(push_tag)(("step " + std::to_string(i)).c_str());
    Alloc(4096);
    MEMTOOL_CAPTURE(pop_tag)();
  }
  for (int i = 0; i < 20; ++i) {
    MEMTOOL_CAPTURE(push_tag)("deep");
  }
  Alloc(8192);
  static std::array<std::string, 250> domains;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    domains[i] = "domain " + std::to_string(i);
    MEMTOOL_CAPTURE(record_alloc)(domains[i].c_str(), Place(i + 1), 100, 0, nullptr);
  }
}

void TagFork() {
  NewContext();
  MEMTOOL_CAPTURE(push_tag)("outer");
  Alloc(4096);
  const pid_t child = fork();
  if (child == 0) {
    Alloc(8192);
    MEMTOOL_CAPTURE(push_tag)("inner");
    Alloc(16384);
    MEMTOOL_CAPTURE(pop_tag)();
    MEMTOOL_CAPTURE(pop_tag)();
    Alloc(32768);
    exit(0);
  }
  WaitFor(child);
}

// Tags and marks, and a first event only when `allocates`.
void EarlyMarks(bool allocates) {
  MEMTOOL_CAPTURE(push_tag)("step");
  MEMTOOL_CAPTURE(mark)("begin", 1);
  usleep(20000);
  MEMTOOL_CAPTURE(snapshot)();
  if (allocates) {
    NewContext();
    usleep(20000);
    Alloc(4096);
    MEMTOOL_CAPTURE(mark)("end", 2);
  }
}

// No descriptor is free at the first event; for the later ones there is one, when `later`.
void NoDescriptors(bool later) {
  NewContext();
  const rlimit limit{64, 64};
  setrlimit(RLIMIT_NOFILE, &limit);
  int last = -1;
  for (int fd = 0; fd >= 0; fd = open("/dev/null", O_RDONLY)) {
    last = fd;
  }
  Alloc(4096);
  if (later) {
    close(last);
  }
  for (int i = 0; i < 10; ++i) {
    Alloc(4096);
  }
}

int Run(std::string_view scenario) {
  if (scenario == "descriptors") {
    Descriptors(false);
  } else if (scenario == "moved") {
    Descriptors(true);
  } else if (scenario == "bare_forks") {
    BareForks();
  } else if (scenario == "exits") {
    Interrupted(Exits);
  } else if (scenario == "forks") {
    Interrupted(Forks);
  } else if (scenario == "marks") {
    Interrupted(Marks);
  } else if (scenario == "cancelled") {
    Cancelled();
  } else if (scenario == "many_streams") {
    ManyStreams();
  } else if (scenario == "tags") {
    Tags();
  } else if (scenario == "tag_fork") {
    TagFork();
  } else if (scenario == "only_marks") {
    EarlyMarks(false);
  } else if (scenario == "early_marks") {
    EarlyMarks(true);
  } else if (scenario == "no_descriptors") {
    NoDescriptors(false);
  } else if (scenario == "descriptors_later") {
    NoDescriptors(true);
  } else if (scenario == "many") {
    NewContext();
    AllocAndFree(60000);
  } else {
    return 2;
  }
  return 0;
}

}  // namespace

bool LinkedDriver(Driver* driver);

int main(int argc, char** argv) {
  Check(LinkedDriver(&g), "no driver");
  return argc < 2 ? 2 : Run(argv[1]);
}
