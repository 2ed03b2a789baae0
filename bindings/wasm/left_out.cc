// What a page does without: functions of the C library that Emscripten declares and does not have,
// and what `memtool help` says of columns and schemas, which no page shows.
#include <sys/xattr.h>

#include <cerrno>
#include <csignal>

#include "help/declared_answers.h"

namespace memtool::commands {

std::vector<DeclaredAnswer> DeclaredAnswers() {
  return {};
}

std::string ColumnsText(std::string_view /*command*/) {
  return {};
}

std::string SchemaText(std::string_view /*question*/) {
  return {};
}

}  // namespace memtool::commands

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
