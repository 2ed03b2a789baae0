#include "support/scratch_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace memtool::formats {

namespace {

Error ScratchFailed(const char* what, int number) {
  return {.code = ErrorCode::kOutput,
          .input = {},
          .message = fmt::format("a temporary file cannot be {}: {}", what,
                                 std::generic_category().message(number)),
          .hint = "TMPDIR names another folder for it"};
}

}  // namespace

Result<ScratchFile> ScratchFile::Make() {
  const char* chosen = std::getenv("TMPDIR");
  std::string path = chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen;
  path += "/memtool-XXXXXX";
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) {
    return Fail(ScratchFailed("made", errno));
  }
  return ScratchFile(fd, std::move(path));
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::exchange(other.path_, {})) {}

ScratchFile::~ScratchFile() {
  RemoveName();
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

void ScratchFile::Unlink() {
  // In a page an open file without a name has no size; there it is memory, and gone with the page.
#ifndef __EMSCRIPTEN__
  RemoveName();
#endif
}

void ScratchFile::RemoveName() {
  if (!path_.empty()) {
    ::unlink(std::exchange(path_, {}).c_str());
  }
}

Result<void> ScratchFile::Append(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd_, bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) {
      return Fail(ScratchFailed("written", errno));
    }
    bytes.remove_prefix(wrote < 0 ? 0 : static_cast<std::size_t>(wrote));
  }
  return {};
}

}  // namespace memtool::formats
