#include "memtool/formats/source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "memtool/formats/profiler_folder.h"

namespace memtool::formats {

namespace {

std::string SystemMessage(int number) {
  return std::generic_category().message(number);
}

// The size of a regular file; none for others, and for those that do not know theirs (/proc).
std::optional<std::uint64_t> SizeOf(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(status.st_size);
}

class FdSource final : public Source {
 public:
  FdSource(int fd, bool owned) : fd_(fd), owned_(owned), size_(SizeOf(fd)) {
    const off_t at = size_ ? ::lseek(fd, 0, SEEK_CUR) : 0;
    at_ = at < 0 ? 0 : static_cast<std::uint64_t>(at);
    begin_ = at_;
  }
  ~FdSource() override {
    if (owned_) {
      ::close(fd_);
    }
  }

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    if (size_) {
      buffer = buffer.first(static_cast<std::size_t>(
          std::min<std::uint64_t>(buffer.size(), *size_ - std::min(*size_, at_))));
      if (buffer.empty()) {
        grew_ = SizeOf(fd_).value_or(0) > *size_;
        return 0;
      }
    }
    while (true) {
      const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
      if (got >= 0) {
        at_ += static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) {
        return Fail(ErrorCode::kIo, "cannot be read: " + SystemMessage(errno));
      }
    }
  }

  bool SeekTo(std::uint64_t offset) override {
    if (!size_ || *size_ < begin_ || offset > *size_ - begin_ ||
        ::lseek(fd_, static_cast<off_t>(begin_ + offset), SEEK_SET) < 0) {
      return false;
    }
    at_ = begin_ + offset;
    return true;
  }

  [[nodiscard]] bool MayWait() const override { return !size_; }
  [[nodiscard]] std::optional<std::uint64_t> EndedAt() const override {
    return grew_ ? size_ : std::nullopt;
  }
  [[nodiscard]] std::optional<PlainFile> AsPlainFile() const override {
    return size_ && begin_ == 0 ? std::optional(PlainFile{.fd = fd_, .size = *size_})
                                : std::nullopt;
  }

 private:
  int fd_;
  bool owned_;
  std::atomic<bool> grew_ = false;     // a thread may read while another asks
  std::optional<std::uint64_t> size_;  // where a regular file ends
  std::uint64_t at_ = 0;
  std::uint64_t begin_ = 0;  // where the descriptor stood
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    const auto left = bytes_.subspan(at_);
    const std::size_t size = std::min(buffer.size(), left.size());
    if (size > 0) {
      std::memcpy(buffer.data(), left.data(), size);
    }
    at_ += size;
    return size;
  }

  bool SeekTo(std::uint64_t offset) override {
    if (offset > bytes_.size()) {
      return false;
    }
    at_ = static_cast<std::size_t>(offset);
    return true;
  }
  [[nodiscard]] bool MayWait() const override { return false; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

// One source behind another.
class JoinedSource final : public Source {
 public:
  JoinedSource(std::unique_ptr<Source> first, std::unique_ptr<Source> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    if (!ended_) {
      auto got = first_->Read(buffer);
      ended_ = got && *got == 0;
      if (!ended_) {
        return got;
      }
    }
    return second_->Read(buffer);
  }
  [[nodiscard]] std::optional<std::uint64_t> EndedAt() const override { return first_->EndedAt(); }

 private:
  std::unique_ptr<Source> first_;
  std::unique_ptr<Source> second_;
  bool ended_ = false;
};

// The last line of a table may lack its end.
Result<std::unique_ptr<Source>> OpenTables(const ProfilerFolder& folder) {
  static constexpr std::array kLineEnd{std::byte{'\n'}};
  std::unique_ptr<Source> joined;
  for (const std::string& table : folder.read) {
    auto next = OpenFile((std::filesystem::path(folder.path) / table).string());
    MEMTOOL_TRY(next);
    joined = joined == nullptr ? *std::move(next)
                               : std::make_unique<JoinedSource>(
                                     std::make_unique<JoinedSource>(
                                         std::move(joined), MakeMemorySource(std::span(kLineEnd))),
                                     *std::move(next));
  }
  return joined;
}

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
    const auto tables = FindProfilerFolder(path);
    return tables
               ? OpenTables(*tables)
               : Result<std::unique_ptr<Source>>(Fail(ErrorCode::kIo, "is a folder, not a file"));
  }
  return MakeFdSource(fd, true);
}

std::optional<std::string> GetStream(const std::string& name) {
  struct stat status {};
  struct stat standard {};
  const bool found = name != "-" && ::stat(name.c_str(), &status) == 0;
  if (name != "-" && (!found || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) {
    return std::nullopt;
  }
  const bool same = found && ::fstat(STDIN_FILENO, &standard) == 0 &&
                    standard.st_dev == status.st_dev && standard.st_ino == status.st_ino;
  return name == "-" || same ? "-" : fmt::format("{}:{}", status.st_dev, status.st_ino);
}

std::unique_ptr<Source> MakeJoinedSource(std::unique_ptr<Source> first,
                                         std::unique_ptr<Source> second) {
  return std::make_unique<JoinedSource>(std::move(first), std::move(second));
}

std::unique_ptr<Source> MakeMemorySource(std::span<const std::byte> bytes) {
  return std::make_unique<MemorySource>(bytes);
}

}  // namespace memtool::formats
