// Of the C library's functions those that Emscripten declares and does not have.
#include <sys/xattr.h>

#include <cerrno>
#include <csignal>

extern "C" {

ssize_t getxattr(const char* /*path*/, const char* /*name*/, void* /*value*/, size_t /*size*/) {
  errno = ENOTSUP;
  return -1;
}

int fsetxattr(int /*file*/, const char* /*name*/, const void* /*value*/, size_t /*size*/,
              int /*flags*/) {
  errno = ENOTSUP;
  return -1;
}

int pthread_kill(pthread_t /*thread*/, int /*signal*/) {
  return ESRCH;
}

}  // extern "C"
