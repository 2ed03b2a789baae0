// The log's file. Its descriptor lives in a table that belongs to the program: daemons and
// launchers close descriptors by number, and the next file that the program opens gets that number.
// So every use asks first whether the number still names the file that was created.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace memtool::capture {

class LogFile {
 public:
  // Creates `path`, which must not exist, with these bytes at once. 0, or the errno, and no file.
  int Create(const char* path, const void* head, std::size_t size);
  [[nodiscard]] bool open() const { return fd_ >= 0; }

  // Space for [at, at + size). 0, or the errno; ESTALE: neither the descriptor nor the path leads
  // to the file any more.
  int Reserve(std::uint64_t at, std::size_t size);
  // That piece, writable and shared, or nullptr with *error. `at` need not be a page's start.
  std::uint8_t* Map(std::uint64_t at, std::size_t size, int* error);
  static void Unmap(std::uint8_t* mapped, std::size_t size);
  // Replaces the mapping by private memory with the same bytes.
  static void MakePrivate(std::uint8_t* mapped, std::size_t size);

  // Truncates the file to `size`, when it can still be reached.
  void Cut(std::uint64_t size);
  // Closes the descriptor if it is the log's.
  void Close();
  // Like Close, and the path is not tried again.
  void Forget();
  // Like Close, and the file's name is removed too.
  void Remove();

 private:
  [[nodiscard]] bool IsOurs(int fd) const;
  bool Reach();

  const char* path_ = "";
  dev_t device_ = 0;
  ino_t inode_ = 0;
  int fd_ = -1;
};

}  // namespace memtool::capture
