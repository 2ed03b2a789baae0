#include "output/sink.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "memtool/formats/limits.h"
#include "memtool/profile/base/sizes.h"
#include "output/temporary_file.h"
#include "output/text/ascii.h"
#include "output/whole_file.h"

namespace memtool::commands {

void Sink::Write(const VisibleText& text) {
  if (ascii_) {
    WriteBytes(ToAscii(text.str()));
  } else {
    WriteBytes(text.str());
  }
}

namespace {

constexpr std::size_t kBuffer = std::size_t{64} << 10U;

// Of the command line that this thread runs.
std::uint64_t& OutputBytes() {
  static thread_local std::uint64_t bytes = formats::Limits{}.output_bytes;
  return bytes;
}

}  // namespace

void BoundOutput(std::uint64_t bytes) {
  OutputBytes() = bytes;
}

void OutputBound::Add(std::size_t bytes) {
  written_ += bytes;
  if (written_ > OutputBytes()) {
    throw OutputTooLong{
        {.code = ErrorCode::kLimit,
         .input = {},
         .message = fmt::format("the output is longer than {}",
                                FormatSize(static_cast<std::int64_t>(OutputBytes()))),
         .hint = "print fewer rows, or lift it with --max output-bytes=SIZE"}};
  }
}

FdSink::~FdSink() {
  WriteAll(fd_, pending_);
}

void FdSink::WritePending() {
  if (!pending_.empty() && before_output_) {
    std::exchange(before_output_, {})();
  }
  failed_ = failed_ != 0 ? failed_ : WriteAll(fd_, pending_);
  pending_.clear();
}

void FdSink::WriteBytes(std::string_view bytes) {
  bound_.Add(bytes.size());
  pending_ += bytes;
  if (pending_.size() >= kBuffer) {
    WritePending();
  }
}

Result<void> FdSink::Flush() {
  WritePending();
  if (failed_ != 0) {
    return Fail(NotWritable("standard output", failed_));
  }
  return {};
}

unsigned FdSink::TerminalWidth() const {
  struct winsize size {};
  if (::isatty(fd_) == 0 || ::ioctl(fd_, TIOCGWINSZ, &size) != 0) {
    return 0;
  }
  // Serial consoles and terminals made by programs may not know their size.
  constexpr unsigned kUsual = 80;
  return size.ws_col == 0 ? kUsual : size.ws_col;
}

void InputFiles::Add(const std::string& name) {
  struct stat status {};
  const int failed = name == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(name.c_str(), &status);
  if (failed == 0 && S_ISREG(status.st_mode)) {
    files_.emplace_back(status.st_dev, status.st_ino);
  }
}

bool InputFiles::Has(const std::string& path) const {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 &&
         std::find(files_.begin(), files_.end(), std::pair(status.st_dev, status.st_ino)) !=
             files_.end();
}

}  // namespace memtool::commands
