/* What glibc has got after version 2.17, as far as the code inside libmemtool_c.so calls it. They
 * are the library's own: nobody else sees them. The linker says when one is missing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* 2.33: names of their own, in place of one with the version of the struct. */
enum { kStruct = 1 };
int __xstat(int version, const char* path, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);
int __fxstat(int version, int file, struct stat* status);

int stat(const char* path, struct stat* status) {
  return __xstat(kStruct, path, status);
}
int lstat(const char* path, struct stat* status) {
  return __lxstat(kStruct, path, status);
}
int fstat(int file, struct stat* status) {
  return __fxstat(kStruct, file, status);
}

/* The same struct here. */
int stat64(const char* path, struct stat64* status) {
  return __xstat(kStruct, path, (struct stat*)status);
}
int lstat64(const char* path, struct stat64* status) {
  return __lxstat(kStruct, path, (struct stat*)status);
}
int fstat64(int file, struct stat64* status) {
  return __fxstat(kStruct, file, (struct stat*)status);
}

/* 2.36, 2.25: random bytes. Kernels before 3.17 have no such call. */
int getentropy(void* bytes, size_t size) {
  if (syscall(SYS_getrandom, bytes, size, 0) == (long)size) {
    return 0;
  }
  const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? -1 : read(file, bytes, size);
  if (file >= 0) {
    close(file);
  }
  return got == (ssize_t)size ? 0 : -1;
}
void arc4random_buf(void* bytes, size_t size) {
  enum { kMost = 256 }; /* that a call gives whole */
  for (size_t done = 0; done < size; done += kMost) {
    if (getentropy((char*)bytes + done, size - done < kMost ? size - done : kMost) != 0) {
      abort();
    }
  }
}
unsigned arc4random(void) {
  unsigned number;
  arc4random_buf(&number, sizeof number);
  return number;
}

/* 2.32: whether counts of owners may be changed without care for other threads; never. */
char __libc_single_threaded = 0;

/* 2.30: until a time of another clock than the condition's own. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  enum { kSecond = 1000000000 };
  struct timespec now, real;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &real) != 0) {
    return EINVAL;
  }
  real.tv_sec += until->tv_sec - now.tv_sec;
  real.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (real.tv_nsec < 0) {
    real.tv_nsec += kSecond;
    --real.tv_sec;
  } else if (real.tv_nsec >= kSecond) {
    real.tv_nsec -= kSecond;
    ++real.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &real);
}

/* 2.28 */
int fcntl64(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const value = va_arg(rest, void*);
  va_end(rest);
  return fcntl(file, command, value);
}

/* 2.27 */
int memfd_create(const char* name, unsigned flags) {
  return (int)syscall(SYS_memfd_create, name, flags);
}

/* Old as they are, but some archives were compiled for programs, into which such variables are
 * copied. */
#undef stdin
#undef stdout
#undef stderr
FILE *stdin, *stdout, *stderr;

__attribute__((constructor(101))) static void FindStreams(void) {
  stdin = *(FILE**)dlsym(RTLD_DEFAULT, "stdin");
  stdout = *(FILE**)dlsym(RTLD_DEFAULT, "stdout");
  stderr = *(FILE**)dlsym(RTLD_DEFAULT, "stderr");
}
