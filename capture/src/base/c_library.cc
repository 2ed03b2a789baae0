// Functions of the C library, under their own names: they are hidden, so every call of this library
// ends here, also those that the compiler makes. A sanitizer that the program is built with
// replaces the C library's. It would see what this library reads and writes, but not the lock that
// orders it (ThreadSanitizer reports races then), and checks bytes that it never saw being written
// (MemorySanitizer). None of these waits for a cancellation of the thread either.
//
// Test capture.symbols says what may be called outside: add here what it names.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the headers' are reserved
// NOLINTBEGIN(cert-dcl50-cpp): as they are declared
extern "C" {

// --- memory and text

void* memcpy(void* __restrict to, const void* __restrict from, std::size_t size) noexcept {
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
#if defined(__x86_64__)
  asm volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(size) : : "memory");
#else
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = in[i];
  }
#endif
  return to;
}

void* memset(void* to, int value, std::size_t size) noexcept {
  auto* out = static_cast<unsigned char*>(to);
#if defined(__x86_64__)
  asm volatile("rep stosb" : "+D"(out), "+c"(size) : "a"(value) : "memory");
#else
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = static_cast<unsigned char>(value);
  }
#endif
  return to;
}

int memcmp(const void* a, const void* b, std::size_t size) noexcept {
  const auto* left = static_cast<const unsigned char*>(a);
  const auto* right = static_cast<const unsigned char*>(b);
  for (std::size_t i = 0; i < size; ++i) {
    if (left[i] != right[i]) {
      return left[i] - right[i];
    }
  }
  return 0;
}

std::size_t strnlen(const char* text, std::size_t most) noexcept {
  std::size_t length = 0;
  while (length < most && text[length] != '\0') {
    ++length;
  }
  return length;
}

std::size_t strlen(const char* text) noexcept {
  return strnlen(text, SIZE_MAX);
}

int strcmp(const char* a, const char* b) noexcept {
  for (; *a == *b && *a != '\0'; ++a, ++b) {
  }
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}

// <cstring> has two forms of it in C++.
const char* FindText(const char* text, const char* part) noexcept __asm__("strstr");
const char* FindText(const char* text, const char* part) noexcept {
  const std::size_t length = strlen(part);
  for (std::size_t left = strlen(text); left >= length; ++text, --left) {
    if (memcmp(text, part, length) == 0) {
      return text;
    }
  }
  return nullptr;
}

// --- system calls

void* mmap(void* wish, std::size_t size, int protection, int flags, int fd, off_t at) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): how the kernel answers
  return reinterpret_cast<void*>(syscall(SYS_mmap, wish, size, protection, flags, fd, at));
}

int munmap(void* start, std::size_t size) noexcept {
  return static_cast<int>(syscall(SYS_munmap, start, size));
}

int madvise(void* start, std::size_t size, int advice) noexcept {
  return static_cast<int>(syscall(SYS_madvise, start, size, advice));
}

void* mremap(void* start, std::size_t size, std::size_t new_size, int flags, ...) noexcept {
  va_list more;
  va_start(more, flags);
  void* wish = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(syscall(SYS_mremap, start, size, new_size, flags, wish));
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): a false alarm
  const unsigned mode = makes ? va_arg(more, unsigned) : 0;
  va_end(more);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int close(int fd) {
  return static_cast<int>(syscall(SYS_close, fd));
}

// The argument is an int in every use here.
int fcntl(int fd, int operation, ...) {
  va_list more;
  va_start(more, operation);
  const long argument = va_arg(more, int);  // NOLINT(clang-analyzer-valist.Uninitialized)
  va_end(more);
  return static_cast<int>(syscall(SYS_fcntl, fd, operation, argument));
}

ssize_t read(int fd, void* to, std::size_t size) {
  return syscall(SYS_read, fd, to, size);
}

ssize_t write(int fd, const void* from, std::size_t size) {
  return syscall(SYS_write, fd, from, size);
}

int ftruncate(int fd, off_t size) noexcept {
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

int unlink(const char* path) noexcept {
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}

ssize_t readlink(const char* path, char* to, std::size_t size) noexcept {
  return syscall(SYS_readlinkat, AT_FDCWD, path, to, size);
}

char* getcwd(char* to, std::size_t size) noexcept {
  return syscall(SYS_getcwd, to, size) < 0 ? nullptr : to;
}

int uname(struct utsname* names) noexcept {
  return static_cast<int>(syscall(SYS_uname, names));
}

int getrlimit(__rlimit_resource_t resource, struct rlimit* limit) noexcept {
  return static_cast<int>(syscall(SYS_prlimit64, 0, resource, nullptr, limit));
}

}  // extern "C"
// NOLINTEND(cert-dcl50-cpp)
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
