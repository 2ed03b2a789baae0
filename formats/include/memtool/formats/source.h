// Where bytes come from. A Source yields the next bytes, front to back; a plain file can also go
// on from another place. Inputs are never mapped or held whole. Unpackers are Sources over Sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "memtool/formats/limits.h"
#include "memtool/profile/base/result.h"

namespace memtool::formats {

// A file that is read as it lies there, from its first byte.
struct PlainFile {
  int fd = -1;
  std::uint64_t size = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  // Fills the front of `buffer`; returns how many bytes, 0 only at the end.
  virtual Result<std::size_t> Read(std::span<std::byte> buffer) = 0;
  // Instead of Read(), from a source that buffers: a copy of `before` and, right behind it, the
  // next bytes, in the source's own memory and valid until the next Read(), Lend() or SeekTo().
  // Empty where it has none to lend, and at the end: Read() says which it is.
  virtual std::span<const std::byte> Lend(std::span<const std::byte> /*before*/) { return {}; }
  // Goes on reading at `offset`, counted from where it began. False, and nothing changes, where it
  // cannot or ends before.
  virtual bool SeekTo(std::uint64_t /*offset*/) { return false; }
  // True if Read() may block indefinitely (pipe, terminal).
  [[nodiscard]] virtual bool MayWait() const { return true; }
  // For a file that grew while it was read: its size when it was opened, where reading ends.
  [[nodiscard]] virtual std::optional<std::uint64_t> EndedAt() const { return std::nullopt; }
  // Where the bytes are those of a file, for what wants a file: it may read that instead. None
  // where somebody has to see the bytes pass.
  [[nodiscard]] virtual std::optional<PlainFile> AsPlainFile() const { return std::nullopt; }

  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
};

// Bytes of a file or pipe; closes the descriptor when `owned`. A regular file ends at the size that
// it has now: one that grows faster than it is read would never end.
std::unique_ptr<Source> MakeFdSource(int fd, bool owned);
// Opens a path for reading; of a folder of Ascend's profilers, its tables one behind the other
// (profiler_folder.h). Errors: kIo with the system's reason, and for other folders.
Result<std::unique_ptr<Source>> OpenFile(const std::string& path);
// An identifier shared by all names of one stream ("-", "/dev/stdin", "/dev/fd/63"); none for files
// that can be reopened. "-" is a stream whatever stands behind it.
std::optional<std::string> GetStream(const std::string& name);
// One behind the other. What is said of the end is that of the first.
std::unique_ptr<Source> MakeJoinedSource(std::unique_ptr<Source> first,
                                         std::unique_ptr<Source> second);
// Bytes that the caller keeps alive.
std::unique_ptr<Source> MakeMemorySource(std::span<const std::byte> bytes);

// Removes gzip (any number of members), zlib and zstd layers, at most three deep, recognised by
// content. `packing` becomes "gzip", "zlib", "zstd", "zstd+gzip" or stays empty.
Result<std::unique_ptr<Source>> Unpack(std::unique_ptr<Source> source, const Limits& limits,
                                       std::string* packing);

}  // namespace memtool::formats
