#include "memtool/formats/source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace memtool::formats {

namespace {

std::string SystemMessage(int number) {
  return std::generic_category().message(number);
}

class FdSource final : public Source {
 public:
  FdSource(int fd, bool owned) : fd_(fd), owned_(owned) {}
  ~FdSource() override {
    if (owned_) {
      ::close(fd_);
    }
  }

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    while (true) {
      const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
      if (got >= 0) {
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) {
        return Fail(ErrorCode::kIo, "cannot be read: " + SystemMessage(errno));
      }
    }
  }

 private:
  int fd_;
  bool owned_;
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    const std::size_t size = std::min(buffer.size(), bytes_.size());
    if (size > 0) {
      std::memcpy(buffer.data(), bytes_.data(), size);
    }
    bytes_ = bytes_.subspan(size);
    return size;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::unique_ptr<Source> MakeFdSource(int fd, bool owned) {
  return std::make_unique<FdSource>(fd, owned);
}

Result<std::unique_ptr<Source>> OpenFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return Fail(ErrorCode::kIo, "cannot be opened: " + SystemMessage(errno));
  }
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(fd);
    return Fail(ErrorCode::kIo, "is a folder, not a file");
  }
  return MakeFdSource(fd, true);
}

std::unique_ptr<Source> MakeMemorySource(std::span<const std::byte> bytes) {
  return std::make_unique<MemorySource>(bytes);
}

}  // namespace memtool::formats
