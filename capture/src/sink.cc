#include "sink.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base.h"
#include "settings.h"

namespace memtool::capture {

namespace {

constexpr unsigned kMostNames = 99999;
constexpr std::size_t kFirstExtent = 4 * wire::kChunkBytes;
constexpr std::size_t kLargestExtent = 256 * wire::kChunkBytes;  // 16 MiB

std::uint32_t Crc(const unsigned char* bytes, std::size_t size) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) {
    return wire::Crc32cSse(bytes, size);
  }
#endif
  return wire::Crc32cPortable(bytes, size);
}

// Growing past this limit would send SIGXFSZ, which ends the program.
bool WithinFileLimit(std::uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         bytes <= limit.rlim_cur;
}

std::uint8_t* MapFile(int fd, std::uint64_t at, std::size_t size) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t skip = at % page;
  void* mapped = mmap(nullptr, size + skip, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      static_cast<off_t>(at - skip));
  return mapped == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(mapped) + skip;
}

void UnmapFile(std::uint8_t* mapped, std::size_t size) {
  if (mapped != nullptr) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto skip = reinterpret_cast<std::uintptr_t>(mapped) % page;
    munmap(mapped - skip, size + skip);
  }
}

std::uint64_t HashCommand() {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  unsigned char bytes[4096];
  const ssize_t size = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);
  if (fd >= 0) {
    close(fd);
  }
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (ssize_t i = 0; i < size; ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace

// The file of this process; a name that is taken (the same pid before exec) gets a number.
bool Sink::Create() {
  char name[sizeof path_ - 16];  // room for a number
  ExpandName(name, sizeof name, GetSettings().out);
  for (unsigned n = 1; n <= kMostNames && fd_ < 0; ++n) {
    NumberedName(path_, sizeof path_, name, n);
    fd_ = open(path_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd_ < 0 && errno != EEXIST) {
      break;
    }
  }
  return fd_ >= 0;
}

void Sink::FillHeader(std::int64_t now) {
  wire::Header& header = *header_;
  header.magic = wire::kMagic;
  header.version = wire::kVersion;
  header.byte_order = wire::kByteOrder;
  header.header_bytes = wire::kHeaderBytes;
  header.chunk_bytes = wire::kChunkBytes;
  start_ = now;
  header.start_monotonic = static_cast<std::uint64_t>(now);
  header.start_unix = static_cast<std::uint64_t>(Now(CLOCK_REALTIME));
  header.pid = getpid();
  header.parent_pid = getppid();
  header.command_hash = HashCommand();
  header.forked_from = forked_from_;
  header.run = GetSettings().run;
  utsname names{};
  uname(&names);
  CopyText(header.host.data(), header.host.size(), names.nodename);
  CopyText(header.rank.data(), header.rank.size(), RankText());
  const ssize_t length =
      readlink("/proc/self/exe", header.executable.data(), header.executable.size() - 1);
  SetBackend(backend_, backend_status_, subscriber_);
  header.executable[length < 0 ? 0 : static_cast<std::size_t>(length)] = '\0';
  __atomic_store_n(&header.committed, wire::kHeaderBytes, __ATOMIC_RELEASE);
}

void Sink::SetBackend(wire::Backend backend, std::uint32_t status, const char* subscriber) {
  backend_ = backend;
  backend_status_ = status;
  if (subscriber != subscriber_) {
    CopyText(subscriber_, sizeof subscriber_, subscriber);
  }
  if (header_ != nullptr) {
    header_->backend = static_cast<std::uint32_t>(backend);
    header_->backend_status = status;
    CopyText(header_->subscriber.data(), header_->subscriber.size(), subscriber_);
  }
}

bool Sink::Open(std::int64_t now) {
  if (tried_) {
    return false;
  }
  tried_ = true;
  if (!Create()) {
    Complain("cannot create the log ", path_);
    stopped_ = true;
    return false;
  }
  void* page = MAP_FAILED;
  if (WithinFileLimit(wire::kHeaderBytes) && posix_fallocate(fd_, 0, wire::kHeaderBytes) == 0) {
    page = mmap(nullptr, wire::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  }
  if (page == MAP_FAILED) {
    Complain("no space for the log ", path_);
    unlink(path_);
    close(fd_);
    fd_ = -1;
    stopped_ = true;
    return false;
  }
  header_ = static_cast<wire::Header*>(page);
  FillHeader(now);
  extent_at_ = wire::kHeaderBytes;
  extent_size_ = 0;
  chunk_at_ = 0;
  return true;
}

void Sink::Stop(wire::Stop reason) {
  stopped_ = true;
  header_->stop_reason = static_cast<std::uint32_t>(reason);
}

// Maps the next piece of the file. Space is reserved first: a store into a hole of a full disk
// would be a SIGBUS in the program.
bool Sink::Grow() {
  const std::uint64_t next = extent_at_ + extent_size_;
  std::size_t size = extent_size_ == 0 ? kFirstExtent : extent_size_ * 2;
  size = size > kLargestExtent ? kLargestExtent : size;
  const std::uint64_t bound = GetSettings().max_bytes;
  const std::uint64_t left = bound > next ? bound - next : 0;
  if (size > left) {
    size = static_cast<std::size_t>(left / wire::kChunkBytes * wire::kChunkBytes);
  }
  if (size == 0) {
    Stop(wire::Stop::kMaxBytes);
    return false;
  }
  if (!WithinFileLimit(next + size)) {
    Stop(wire::Stop::kFileLimit);
    return false;
  }
  if (posix_fallocate(fd_, static_cast<off_t>(next), static_cast<off_t>(size)) != 0) {
    Stop(wire::Stop::kDiskFull);
    return false;
  }
  std::uint8_t* mapped = MapFile(fd_, next, size);
  if (mapped == nullptr) {
    Stop(wire::Stop::kMapFailed);
    return false;
  }
  UnmapFile(extent_, extent_size_);
  extent_ = mapped;
  extent_at_ = next;
  extent_size_ = size;
  return true;
}

void Sink::Seal() {
  auto* chunk = reinterpret_cast<wire::ChunkHeader*>(extent_ + (chunk_at_ - extent_at_));
  const auto* records = reinterpret_cast<const unsigned char*>(chunk + 1);
  const auto used = static_cast<std::uint32_t>(at_ - records);
  chunk->crc = Crc(records, used);
  __atomic_store_n(&chunk->used, used, __ATOMIC_RELEASE);
}

bool Sink::NextChunk(std::int64_t now) {
  std::uint64_t next = extent_at_;
  if (chunk_at_ != 0) {
    Seal();
    next = chunk_at_ + wire::kChunkBytes;
  }
  if (next >= extent_at_ + extent_size_ && !Grow()) {
    return false;
  }
  chunk_at_ = next;
  std::uint8_t* begin = extent_ + (chunk_at_ - extent_at_);
  auto* chunk = reinterpret_cast<wire::ChunkHeader*>(begin);
  chunk->sequence = chunk_;
  chunk->base_time = static_cast<std::uint64_t>(now - start_);
  chunk->magic = wire::kChunkMagic;
  chunk_time_ = now;
  ++chunk_;
  at_ = begin + sizeof(wire::ChunkHeader);
  end_ = begin + wire::kChunkBytes;
  return true;
}

std::uint8_t* Sink::Begin(std::size_t most, std::int64_t now) {
  if (stopped_ || (header_ == nullptr && !Open(now))) {
    return nullptr;
  }
  if (static_cast<std::size_t>(end_ - at_) < most && !NextChunk(now)) {
    return nullptr;
  }
  return at_;
}

void Sink::Commit(const std::uint8_t* end) {
  at_ += end - at_;
  const std::uint64_t place = extent_at_ + static_cast<std::uint64_t>(at_ - extent_);
  __atomic_store_n(&header_->committed, place, __ATOMIC_RELEASE);
}

void Sink::Close() {
  if (header_ != nullptr) {
    if (chunk_at_ != 0 && at_ != nullptr) {
      Seal();
    }
    const auto committed = static_cast<off_t>(header_->committed);
    UnmapFile(extent_, extent_size_);
    // The rest of the space was only reserved. A failure leaves the file as long as it was.
    [[maybe_unused]] const int cut = ftruncate(fd_, committed);
    __atomic_or_fetch(&header_->flags, wire::kEndedCleanly, __ATOMIC_RELEASE);
    extent_ = nullptr;
    close(fd_);
    fd_ = -1;
  }
  stopped_ = true;
}

void Sink::Forget(std::uint64_t* forked_from) {
  if (header_ != nullptr) {
    *forked_from = header_->start_monotonic;
    munmap(header_, wire::kHeaderBytes);
    UnmapFile(extent_, extent_size_);
  }
  if (fd_ >= 0) {
    close(fd_);
  }
  header_ = nullptr;
  extent_ = nullptr;
  extent_size_ = 0;
  extent_at_ = chunk_at_ = 0;
  at_ = end_ = nullptr;
  chunk_ = 0;
  fd_ = -1;
  tried_ = stopped_ = false;
  forked_from_ = *forked_from;
}

}  // namespace memtool::capture
