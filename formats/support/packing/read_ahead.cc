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
#endif

namespace memtool::formats {

#ifdef __EMSCRIPTEN__

// A page has no threads.
std::unique_ptr<Source> MakeReadAhead(std::unique_ptr<Source> source) {
  return source;
}

#else

namespace {

// Less is unpacked before a thread has begun to work.
constexpr std::uint64_t kWorthAThread = std::uint64_t{2} << 20U;
// Together no larger than what a core keeps close.
constexpr std::size_t kPieces = 4;
constexpr std::size_t kPieceBytes = std::size_t{256} << 10U;

// How many threads work ahead, in all inputs that are being read.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): cores are the process's
std::atomic<unsigned> working{0};

// The right to have a thread, as long as a core is likely to be free for it.
class Place {
 public:
  static std::optional<Place> Take() {
    const unsigned most = std::thread::hardware_concurrency() / 2;
    unsigned now = working.load();
    while (now < most) {
      if (working.compare_exchange_weak(now, now + 1)) {
        return Place();
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
  Place() = default;
  bool held_ = true;
};

// Pieces that one thread fills and another empties, in turn.
class Ring {
 public:
  explicit Ring(Source& source) : source_(source) {
    for (Piece& piece : pieces_) {
      piece.bytes = std::make_unique_for_overwrite<std::byte[]>(kPieceBytes);
    }
  }

  // The filling thread. Nothing leaves it but through the pieces.
  void Fill() {
    for (std::size_t turn = 0; WaitToFill(turn); ++turn) {
      Piece& piece = pieces_[turn % kPieces];
      try {
        piece.got = source_.Read({piece.bytes.get(), kPieceBytes});
      } catch (...) {
        piece.thrown = std::current_exception();
      }
      const bool last = piece.thrown != nullptr || !piece.got || *piece.got == 0;
      Count(filled_);
      if (last) {
        return;
      }
    }
  }

  // The emptying thread: as Source::Read.
  Result<std::size_t> Read(std::span<std::byte> buffer) {
    Piece& piece = WaitForFilled();
    if (piece.thrown != nullptr) {
      std::rethrow_exception(piece.thrown);
    }
    if (!piece.got || *piece.got == 0) {
      return piece.got;  // stays the last: asked again, it says the same
    }
    const std::size_t size = std::min(buffer.size(), *piece.got - at_);
    std::memcpy(buffer.data(), piece.bytes.get() + at_, size);
    at_ += size;
    if (at_ == *piece.got) {
      at_ = 0;
      Count(emptied_);
    }
    return size;
  }

  void Stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }

 private:
  struct Piece {
    std::unique_ptr<std::byte[]> bytes;
    Result<std::size_t> got = 0;
    std::exception_ptr thrown;
  };

  // Whoever waits is woken when the lock is free again.
  void Count(std::size_t& turns) {
    {
      const std::lock_guard lock(mutex_);
      ++turns;
    }
    changed_.notify_one();
  }
  bool WaitToFill(std::size_t turn) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || turn < emptied_ + kPieces; });
    return !stopped_;
  }
  Piece& WaitForFilled() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return emptied_ < filled_; });
    return pieces_[emptied_ % kPieces];
  }

  Source& source_;
  std::array<Piece, kPieces> pieces_;
  std::size_t at_ = 0;  // in the piece that is being emptied
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;
  std::size_t emptied_ = 0;
  bool stopped_ = false;
};

class ReadAheadSource final : public Source {
 public:
  explicit ReadAheadSource(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  ~ReadAheadSource() override {
    if (thread_.joinable()) {
      ring_->Stop();
      thread_.join();
    }
  }

  Result<std::size_t> Read(std::span<std::byte> buffer) override {
    if (!tried_ && direct_ >= kWorthAThread) {
      Start();
    }
    if (ring_ != nullptr) {
      return ring_->Read(buffer);
    }
    auto got = source_->Read(buffer);
    direct_ += got.value_or(0);
    return got;
  }

 private:
  void Start() {
    tried_ = true;
    place_ = Place::Take();
    if (!place_) {
      return;
    }
    auto ring = std::make_unique<Ring>(*source_);
    try {
      thread_ = std::thread([&ring = *ring] { ring.Fill(); });
    } catch (const std::system_error&) {
      place_.reset();
      return;
    }
    ring_ = std::move(ring);
  }

  std::unique_ptr<Source> source_;
  std::uint64_t direct_ = 0;  // bytes read without a thread
  bool tried_ = false;
  std::optional<Place> place_;
  std::unique_ptr<Ring> ring_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Source> MakeReadAhead(std::unique_ptr<Source> source) {
  return std::make_unique<ReadAheadSource>(std::move(source));
}

#endif

}  // namespace memtool::formats
