// A file that is being written and has no name of its own yet: it goes away unless it is kept, also
// when a signal ends the program.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

// A descriptor that is closed at the end of its scope; -1 = none.
class UniqueFd {
 public:
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd();
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  // 0, or the errno of close(): some file systems say only then that the disk is full.
  int Close();

 private:
  int fd_;
};

// Calls return 0 or errno. After OwnSignals() only one exists at a time.
class TemporaryFile {
 public:
  TemporaryFile();
  // Removes what was not kept.
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Makes `begin` + 16 random digits + `ending` in `folder`, with `mode` less the umask. From here
  // on, signals that end the program remove it first. Both texts together have at most 40 bytes.
  int Make(const std::string& folder, std::string_view begin, std::string_view ending,
           unsigned mode);
  int Write(std::string_view bytes);
  // Closes it and gives it the name `name` in its folder, in place of what had it.
  int KeepAs(const std::string& name);
  // Closes it and leaves it under the name that it has.
  int Keep();
  [[nodiscard]] int fd() const;
  [[nodiscard]] std::string name() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Writes everything; returns 0 or errno.
int WriteAll(int fd, std::string_view bytes);

// Says that the process's signals are this program's, to be called by its main(): those that end it
// remove a TemporaryFile first, and a write beyond `ulimit -f` fails with EFBIG instead of ending
// it without a word. Programs started from this one get the dispositions that it was started with.
void OwnSignals();

}  // namespace memtool::commands
