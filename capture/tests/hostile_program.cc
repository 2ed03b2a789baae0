// usage: hostile_program SCENARIO: what programs do to a library that lives in them.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "driver.h"
#include "memtool_capture.h"

namespace {

Driver g;

void Check(bool holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "hostile_program: %s\n", what);
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

int Run(std::string_view scenario) {
  if (scenario == "descriptors") {
    Descriptors(false);
  } else if (scenario == "moved") {
    Descriptors(true);
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
