// A sliding window over a Source: the reader sees contiguous bytes of one record at a time, and
// memory stays small however long the input is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "memtool/formats/source.h"

namespace memtool::formats {

class ByteWindow {
 public:
  explicit ByteWindow(std::unique_ptr<Source> source);

  // Offset of the next byte in the unpacked input.
  [[nodiscard]] std::uint64_t offset() const { return base_ + begin_; }
  // The buffered bytes, without reading more.
  [[nodiscard]] std::span<const std::byte> buffered() const {
    return {bytes_ + begin_, end_ - begin_};
  }
  // Reads until `size` bytes are buffered or the input ends; returns what is buffered. Spans
  // returned earlier are invalid afterwards. Throws ReadError on I/O or unpacking errors.
  std::span<const std::byte> Fill(std::size_t size);
  // Steps over buffered bytes.
  void Advance(std::size_t size) { begin_ += size; }
  // Steps over bytes that need not be looked at; false when the input ended first.
  bool Skip(std::uint64_t size);
  // Goes on at another place of the input, if it is a plain file that reaches as far; else false,
  // and nothing changes.
  bool Seek(std::uint64_t offset);
  // Whether Seek() can go back, and Skip() costs nothing.
  [[nodiscard]] bool CanSeek() { return Seek(offset()); }
  // The file behind it, if it is a plain one (Source::AsPlainFile).
  [[nodiscard]] std::optional<PlainFile> AsPlainFile() const { return source_->AsPlainFile(); }
  [[nodiscard]] bool AtEnd() { return begin_ == end_ && Fill(1).empty(); }

 private:
  bool Borrow();
  void MakeRoom(std::size_t wanted);

  std::unique_ptr<Source> source_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t capacity_;
  const std::byte* bytes_;  // buffer_, or what the source lends
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t base_ = 0;  // offset of bytes_[0]
  bool ended_ = false;
};

}  // namespace memtool::formats
