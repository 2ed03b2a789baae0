#include "memtool/formats/byte_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/read_error.h"

namespace memtool::formats {

namespace {
// Small enough to stay in the second-level cache between inflating and decoding.
constexpr std::size_t kFirstCapacity = std::size_t{256} << 10U;
// A buffer that one large record needed is given back when the next ones are small.
constexpr std::size_t kLargeCapacity = std::size_t{16} << 20U;
}  // namespace

ByteWindow::ByteWindow(std::unique_ptr<Source> source)
    : source_(std::move(source)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kFirstCapacity)),
      capacity_(kFirstCapacity),
      bytes_(buffer_.get()) {}

// Takes more bytes where they lie.
bool ByteWindow::Borrow() {
  const auto lent = source_->Lend(buffered());
  if (lent.empty()) {
    return false;
  }
  base_ += begin_;
  bytes_ = lent.data();
  begin_ = 0;
  end_ = lent.size();
  return true;
}

// Moves what is buffered to the front, into a larger buffer when it fills this one: memory grows
// with the bytes that really arrive, never with a length that an input only claims.
void ByteWindow::MakeRoom(std::size_t wanted) {
  const std::size_t kept = end_ - begin_;
  const bool full = kept >= capacity_;
  const bool too_large =
      capacity_ >= kLargeCapacity && std::max(kept, wanted) <= kFirstCapacity / 2;
  if (full || too_large) {
    const std::size_t capacity = full ? kept * 2 : kFirstCapacity;
    auto other = std::make_unique_for_overwrite<std::byte[]>(capacity);
    std::memcpy(other.get(), bytes_ + begin_, kept);
    buffer_ = std::move(other);
    capacity_ = capacity;
  } else {
    std::memmove(buffer_.get(), bytes_ + begin_, kept);
  }
  bytes_ = buffer_.get();
  base_ += begin_;
  begin_ = 0;
  end_ = kept;
}

std::span<const std::byte> ByteWindow::Fill(std::size_t size) {
  while (end_ - begin_ < size && !ended_ && Borrow()) {
  }
  if (end_ - begin_ < size && !ended_) {
    MakeRoom(size);
    while (end_ < size && !ended_) {
      if (end_ == capacity_) {
        MakeRoom(size);
      }
      auto got = source_->Read({buffer_.get() + end_, capacity_ - end_});
      if (!got) {
        throw ReadError(std::move(got.error()));
      }
      ended_ = *got == 0;
      end_ += *got;
    }
  }
  return buffered();
}

bool ByteWindow::Seek(std::uint64_t offset) {
  if (!source_->SeekTo(offset)) {
    return false;
  }
  base_ = offset;
  begin_ = end_ = 0;
  ended_ = false;
  return true;
}

bool ByteWindow::Skip(std::uint64_t size) {
  const std::uint64_t ahead = end_ - begin_;
  if (size > ahead + kFirstCapacity && size <= UINT64_MAX - offset() && Seek(offset() + size)) {
    return true;
  }
  while (size > 0) {
    const std::size_t at_hand = Fill(1).size();
    if (at_hand == 0) {
      return false;
    }
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(at_hand, size));
    Advance(step);
    size -= step;
  }
  return true;
}

}  // namespace memtool::formats
