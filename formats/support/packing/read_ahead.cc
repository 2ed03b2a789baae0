#include "support/packing/read_ahead.h"

#include <utility>

#ifndef __EMSCRIPTEN__
#  include <algorithm>
#  include <array>
#  include <atomic>
#  include <condition_variable>
#  include <cstring>
#  include <exception>
#  include <mutex>
#  include <optional>
#  include <system_error>
#  include <thread>

#  include "memtool/profile/base/on_threads.h"
#endif

namespace memtool::formats {

#ifdef __EMSCRIPTEN__

// A page has no threads.
std::unique_ptr<Source> MakeReadAhead(std::unique_ptr<Source> source, bool /*packed*/) {
  return source;
}

#else

namespace {

// What is read without a thread: as much as is read until one has begun, or gains by none.
constexpr std::uint64_t kPackedWorthAThread = std::uint64_t{2} << 20U;
constexpr std::uint64_t kWorthAThread = std::uint64_t{16} << 20U;
// Together enough for what reads to stop for some milliseconds (a table grows), and no more than
// processors share a cache for.
constexpr std::size_t kPieces = 24;
constexpr std::size_t kPieceBytes = std::size_t{256} << 10U;
// A thread that waits is woken once there is work for a while: waking it takes as long as a good
// part of a piece.
constexpr std::size_t kMinPiecesToWake = 6;
// Before each piece, for what its reader has left of the one before.
constexpr std::size_t kRoomBefore = std::size_t{64} << 10U;

// How many threads read an input, or read ahead of one that does.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): cores are the process's
std::atomic<std::size_t> working{0};

// Counts a thread among them.
class Place {
 public:
  // One that reads, whether a core is free for it or not.
  Place() { ++working; }
  // One that reads ahead: only where a core is likely to be free for it.
  static std::optional<Place> Take() {
    std::size_t now = working.load();
    while (now < ProcessorCount()) {
      if (working.compare_exchange_weak(now, now + 1)) {
        return Place(true);
      }
    }
    return std::nullopt;
  }
  Place(Place&& other) noexcept : held_(std::exchange(other.held_, false)) {}
  Place& operator=(Place&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Place() {
    if (held_) {
      --working;
    }
  }

 private:
  explicit Place(bool held) : held_(held) {}
  bool held_ = true;
};

// Pieces that one thread fills and another empties, in turn.
class Ring {
 public:
  explicit Ring(Source& source) : source_(source) {
    for (Piece& piece : pieces_) {
      piece.room = std::make_unique_for_overwrite<std::byte[]>(kRoomBefore + kPieceBytes);
    }
  }

  // The filling thread. Nothing leaves it but through the pieces.
  void Fill() {
    for (std::size_t turn = 0; WaitToFill(turn); ++turn) {
      Piece& piece = pieces_[turn % kPieces];
      try {
        piece.got = source_.Read({piece.bytes(), kPieceBytes});
      } catch (...) {
        piece.thrown = std::current_exception();
      }
      const bool last = piece.thrown != nullptr || !piece.got || *piece.got == 0;
      Count(filled_, [this, last] { return last || filled_ - emptied_ > kMinPiecesToWake; });
      if (last) {
        return;
      }
    }
  }

  // The emptying thread: as Source::Read and Source::Lend.
  Result<std::size_t> Read(std::span<std::byte> buffer) {
    TakeBack();
    Piece& piece = WaitForFilled(emptied_);
    if (piece.thrown != nullptr) {
      std::rethrow_exception(piece.thrown);
    }
    if (!piece.got || *piece.got == 0) {
      return piece.got;  // stays the last: asked again, it says the same
    }
    const std::size_t size = std::min(buffer.size(), *piece.got - at_);
    std::memcpy(buffer.data(), piece.bytes() + at_, size);
    at_ += size;
    if (at_ == *piece.got) {
      at_ = 0;
      CountEmptied();
    }
    return size;
  }

  std::span<const std::byte> Lend(std::span<const std::byte> before) {
    Piece& piece = WaitForFilled(emptied_ + (lent_ ? 1 : 0));
    if (before.size() > kRoomBefore || piece.thrown != nullptr || piece.got.value_or(0) == 0) {
      return {};
    }
    std::byte* const begin = piece.bytes() + (lent_ ? 0 : at_) - before.size();
    const std::size_t size = *piece.got - (lent_ ? 0 : at_) + before.size();
    std::memcpy(begin, before.data(), before.size());
    TakeBack();
    lent_ = true;
    at_ = 0;
    return {begin, size};
  }

  void Stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }

 private:
  struct Piece {
    [[nodiscard]] std::byte* bytes() const { return room.get() + kRoomBefore; }

    std::unique_ptr<std::byte[]> room;
    Result<std::size_t> got = 0;
    std::exception_ptr thrown;
  };

  void TakeBack() {
    if (lent_) {
      lent_ = false;
      CountEmptied();
    }
  }

  void CountEmptied() {
    Count(emptied_, [this] { return filled_ - emptied_ + kMinPiecesToWake <= kPieces; });
  }
  // The other thread is woken when the lock is free again.
  template <class Wakes>
  void Count(std::size_t& turns, Wakes wakes) {
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      ++turns;
      wake = wakes();
    }
    if (wake) {
      changed_.notify_one();
    }
  }
  bool WaitToFill(std::size_t turn) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || turn < emptied_ + kPieces; });
    return !stopped_;
  }
  Piece& WaitForFilled(std::size_t turn) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, turn] { return turn < filled_; });
    return pieces_[turn % kPieces];
  }

  Source& source_;
  std::array<Piece, kPieces> pieces_;
  std::size_t at_ = 0;  // in the piece that is being emptied
  bool lent_ = false;   // all that is left of that piece
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;
  std::size_t emptied_ = 0;
  bool stopped_ = false;
};

class ReadAheadSource final : public Source {
 public:
  // `worth`: after so many bytes it is worth a thread.
  ReadAheadSource(std::unique_ptr<Source> source, std::uint64_t worth)
      : source_(std::move(source)), worth_(worth) {}
  ~ReadAheadSource() override { Stop(); }

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    auto got = MayUseThread() ? ring_->Read(buffer) : source_->Read(buffer);
    at_ += got.value_or(0);
    return got;
  }
  std::span<const std::byte> Lend(std::span<const std::byte> before) override {
    const auto lent = MayUseThread() ? ring_->Lend(before) : std::span<const std::byte>();
    at_ += lent.empty() ? 0 : lent.size() - before.size();
    return lent;
  }
  bool SeekTo(std::uint64_t offset) override {
    if (!source_->AsPlainFile()) {
      return false;
    }
    Stop();  // which has read beyond at_
    const bool reached = source_->SeekTo(offset);
    if (reached) {
      at_ = offset;
    } else {
      source_->SeekTo(at_);
    }
    from_ = at_;
    return reached;
  }
  [[nodiscard]] bool MayWait() const override { return source_->MayWait(); }
  [[nodiscard]] std::optional<PlainFile> AsPlainFile() const override {
    return source_->AsPlainFile();
  }

 private:
  // Starts the thread once the input has proved to be large and a core is free.
  bool MayUseThread() {
    if (ring_ == nullptr && !failed_ && at_ - from_ >= worth_) {
      Start();
    }
    return ring_ != nullptr;
  }
  void Start() {
    place_ = Place::Take();
    if (!place_) {
      return;
    }
    auto ring = std::make_unique<Ring>(*source_);
    try {
      thread_ = std::thread([&ring = *ring] { ring.Fill(); });
    } catch (const std::system_error&) {
      failed_ = true;
      place_.reset();
      return;
    }
    ring_ = std::move(ring);
  }
  void Stop() {
    if (thread_.joinable()) {
      ring_->Stop();
      thread_.join();
      ended_ = std::move(ring_);
      place_.reset();
    }
  }

  std::unique_ptr<Source> source_;
  std::uint64_t worth_;
  std::uint64_t from_ = 0;  // where it began, or went on from another place
  std::uint64_t at_ = 0;
  bool failed_ = false;  // no thread can be made
  Place reading_;
  std::optional<Place> place_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<Ring> ended_;  // of a thread that was stopped: what it lent may be in use
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Source> MakeReadAhead(std::unique_ptr<Source> source, bool packed) {
  return std::make_unique<ReadAheadSource>(std::move(source),
                                           packed ? kPackedWorthAThread : kWorthAThread);
}

#endif

}  // namespace memtool::formats
