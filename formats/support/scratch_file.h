// A file in the folder for temporary files that soon has no name, so that it is gone when the
// program ends, however it ends.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "memtool/profile/base/result.h"

namespace memtool::formats {

class ScratchFile {
 public:
  // Errors: kOutput with the system's reason.
  static Result<ScratchFile> Make();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;
  ScratchFile(const ScratchFile&) = delete;
  ~ScratchFile();

  [[nodiscard]] int fd() const { return fd_; }
  // Its name until Unlink(), by which SQLite opens it.
  [[nodiscard]] const std::string& path() const { return path_; }
  void Unlink();
  // Adds to its end. Errors: kOutput.
  [[nodiscard]] Result<void> Append(std::string_view bytes) const;

 private:
  ScratchFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  void RemoveName();

  int fd_;
  std::string path_;
};

}  // namespace memtool::formats
