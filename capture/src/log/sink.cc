#include "log/sink.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/clock.h"
#include "base/settings.h"
#include "base/text.h"

namespace memtool::capture {

namespace {

constexpr unsigned kMaxNames = 99999;
constexpr std::size_t kFirstExtent = 4 * wire::kChunkBytes;
constexpr std::size_t kMaxExtent = 256 * wire::kChunkBytes;  // 16 MiB

std::uint32_t Crc(const unsigned char* bytes, std::size_t size) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) {
    return wire::Crc32cSse(bytes, size);
  }
#endif
  return wire::Crc32cPortable(bytes, size);
}

bool NoSpace(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

// Growing past this limit would send SIGXFSZ, which ends the program.
bool WithinFileLimit(std::uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         bytes <= limit.rlim_cur;
}

std::uint64_t HashCommand() {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  static unsigned char bytes[4096];
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

// A thread that is cancelled in a call like open() would leave the log's lock held.
class NoCancel {
 public:
  NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancel() { pthread_setcancelstate(before_, nullptr); }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace

// The file of this process; a name that is taken (the same pid before exec) gets a number.
int Sink::Create(std::int64_t now) {
  static char name[sizeof path_ - 16];  // room for a number
  ExpandName(name, sizeof name, GetSettings().out);
  alignas(wire::Header) static unsigned char page[wire::kHeaderBytes];
  FillHeader(*reinterpret_cast<wire::Header*>(page), now);
  int error = WithinFileLimit(sizeof page) ? EEXIST : EFBIG;
  for (unsigned n = 1; n == 1 || (n <= kMaxNames && error == EEXIST); ++n) {
    NumberedName(path_, sizeof path_, name, n);
    error = error == EEXIST ? file_.Create(path_, page, sizeof page) : error;
  }
  return error;
}

void Sink::FillHeader(wire::Header& header, std::int64_t now) {
  header = {};
  header.magic = wire::kMagic;
  header.version = wire::kVersion;
  header.byte_order = wire::kByteOrder;
  header.header_bytes = wire::kHeaderBytes;
  header.chunk_bytes = wire::kChunkBytes;
  start_ = now;
  header.start_monotonic = static_cast<std::uint64_t>(now);
  header.start_unix =
      static_cast<std::uint64_t>(Now(CLOCK_REALTIME) - (Now(CLOCK_MONOTONIC) - now));
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
  header.executable[length < 0 ? 0 : static_cast<std::size_t>(length)] = '\0';
  WriteBackend(header);
  header.committed = wire::kHeaderBytes;
}

void Sink::WriteBackend(wire::Header& header) const {
  header.backend = static_cast<std::uint32_t>(backend_);
  header.backend_status = backend_status_;
  CopyText(header.subscriber.data(), header.subscriber.size(), subscriber_);
}

void Sink::SetBackend(wire::Backend backend, std::uint32_t status, const char* subscriber) {
  backend_ = backend;
  backend_status_ = status;
  if (subscriber != subscriber_) {
    CopyText(subscriber_, sizeof subscriber_, subscriber);
  }
  if (header_ != nullptr) {
    WriteBackend(*header_);
  }
}

bool Sink::Open(std::int64_t now) {
  if (wait_ > 0) {
    --wait_;
    return false;
  }
  const NoCancel whole;
  if (const int error = Create(now); error != 0) {
    // These are temporary. An attempt at every event would be slow while they last.
    if (error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR) {
      unmade_ = error;
      pause_ = pause_ < 1000 ? 2 * pause_ + 1 : pause_;
      wait_ = pause_;
      return false;
    }
    return NoLog(error == EFBIG   ? "the limit on file sizes leaves no room for the log "
                 : NoSpace(error) ? "no space for the log "
                                  : "cannot create the log ");
  }
  unmade_ = 0;
  const char* refused = nullptr;
  header_ = reinterpret_cast<wire::Header*>(MapHeader(&refused));
  if (header_ == nullptr) {
    file_.Remove();
    return NoLog(refused);
  }
  extent_at_ = wire::kHeaderBytes;
  extent_size_ = 0;
  chunk_at_ = 0;
  return true;
}

// Says why, once.
bool Sink::NoLog(const char* why) {
  if (!detached_) {
    Warn(why, path_);
  }
  stopped_ = true;
  return false;
}

std::uint8_t* Sink::MapHeader(const char** refused) {
  int error = file_.Reserve(0, wire::kHeaderBytes);
  if (error != 0) {
    *refused = NoSpace(error) ? "no space for the log " : "no space can be reserved for the log ";
    return nullptr;
  }
  std::uint8_t* page = file_.Map(0, wire::kHeaderBytes, &error);
  *refused = error == ENODEV || error == EINVAL
                 ? "its file system cannot map files shared, which the log needs: "
                 : "cannot map the log ";
  return page;
}

void Sink::Stop(wire::Stop reason) {
  stopped_ = true;
  header_->stop_reason = static_cast<std::uint32_t>(reason);
}

// Maps the next piece of the file. Space is reserved first: a store into a hole of a full disk
// would be a SIGBUS in the program.
bool Sink::Grow() {
  const NoCancel whole;
  const std::uint64_t next = extent_at_ + extent_size_;
  std::size_t size = extent_size_ == 0 ? kFirstExtent : extent_size_ * 2;
  size = closed_             ? wire::kChunkBytes  // nobody truncates it any more
         : size > kMaxExtent ? kMaxExtent
                             : size;
  const std::uint64_t bound = GetSettings().max_bytes;
  const std::uint64_t left = bound > next ? bound - next : 0;
  if (size > left) {
    size = static_cast<std::size_t>(left / wire::kChunkBytes * wire::kChunkBytes);
  }
  if (const wire::Stop why = Reserve(next, &size); why != wire::Stop::kNone) {
    Stop(why);
    return false;
  }
  int error = 0;
  std::uint8_t* mapped = file_.Map(next, size, &error);
  if (mapped == nullptr) {
    Stop(error == ESTALE ? wire::Stop::kFileLost : wire::Stop::kMapFailed);
    return false;
  }
  LogFile::Unmap(extent_, extent_size_);
  extent_ = mapped;
  extent_at_ = next;
  extent_size_ = size;
  return true;
}

// Up to *size bytes, which becomes what there was room for: half, a quarter, … one chunk.
wire::Stop Sink::Reserve(std::uint64_t at, std::size_t* size) {
  wire::Stop why = wire::Stop::kMaxBytes;
  for (; *size != 0; *size = *size / 2 / wire::kChunkBytes * wire::kChunkBytes) {
    if (!WithinFileLimit(at + *size)) {
      why = wire::Stop::kFileLimit;
      continue;
    }
    const int error = file_.Reserve(at, *size);
    if (error == 0) {
      return wire::Stop::kNone;
    }
    why = error == ESTALE  ? wire::Stop::kFileLost
          : NoSpace(error) ? wire::Stop::kDiskFull
                           : wire::Stop::kReserveFailed;
    if (error != EINTR && !NoSpace(error)) {
      return why;
    }
  }
  return why;
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
  const NoCancel whole;
  if (header_ != nullptr) {
    if (chunk_at_ != 0 && at_ != nullptr) {
      Seal();
      extent_at_ = chunk_at_ + wire::kChunkBytes;  // where a late record would go
    }
    LogFile::Unmap(extent_, extent_size_);
    file_.Cut(header_->committed);  // the rest of the space was only reserved
    __atomic_or_fetch(&header_->flags, wire::kEndedCleanly, __ATOMIC_RELEASE);
    extent_ = at_ = end_ = nullptr;
    extent_size_ = 0;
    chunk_at_ = 0;
    closed_ = true;
  } else if (unmade_ != 0 && !detached_) {
    Warn(unmade_ == ENOMEM  ? "there was no memory for the log "
         : unmade_ == EINTR ? "signals kept the log from being created: "
                            : "too many files were open to create the log ",
         path_);
    stopped_ = true;
  }
}

void Sink::Abandon() {
  stopped_ = true;
  if (header_ != nullptr) {
    __atomic_or_fetch(&header_->flags, wire::kEndedCleanly, __ATOMIC_RELEASE);
  }
}

void Sink::Detach() {
  if (header_ != nullptr) {
    LogFile::MakePrivate(reinterpret_cast<std::uint8_t*>(header_), wire::kHeaderBytes);
    LogFile::MakePrivate(extent_, extent_size_);
  }
  file_.Forget();
  detached_ = true;
}

void Sink::Forget(std::uint64_t* forked_from) {
  if (header_ != nullptr) {
    *forked_from = header_->start_monotonic;
    munmap(header_, wire::kHeaderBytes);
    LogFile::Unmap(extent_, extent_size_);
  }
  file_.Close();
  header_ = nullptr;
  extent_ = nullptr;
  extent_size_ = 0;
  extent_at_ = chunk_at_ = 0;
  at_ = end_ = nullptr;
  chunk_ = 0;
  stopped_ = detached_ = closed_ = false;
  unmade_ = 0;
  wait_ = pause_ = 0;
  forked_from_ = *forked_from;
}

}  // namespace memtool::capture
