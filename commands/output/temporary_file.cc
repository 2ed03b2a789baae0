#include "output/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <random>

namespace memtool::commands {

namespace {

// What end a program unless it asks otherwise, and can be caught.
constexpr std::array kEndings{SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGALRM,
                              SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGVTALRM};
constexpr std::size_t kMaxName = 64;
constexpr int kMaxTries = 100;

// All that the handler reaches. The writer is the thread whose system calls make, rename and forget
// the file: the handler runs on it alone, so that nothing is made after it has looked.
struct Pending {
  std::atomic<int> folder{-1};
  std::array<char, kMaxName> name{};
  pthread_t writer{};
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): handlers reach nothing else
Pending g_pending;

void RemoveAndEnd(int signal) {
  if (::pthread_equal(::pthread_self(), g_pending.writer) == 0) {
    ::pthread_kill(g_pending.writer, signal);
    return;
  }
  if (const int folder = g_pending.folder.exchange(-1); folder >= 0) {
    ::unlinkat(folder, g_pending.name.data(), 0);
  }
  // As if there were no handler, so that the exit status names the signal: it arrives again when
  // this one returns.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// While it lives, signals that would end the program remove g_pending first. What the user chose to
// ignore (nohup) stays ignored.
class Handlers {
 public:
  Handlers() {
    struct sigaction action {};
    action.sa_handler = RemoveAndEnd;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < kEndings.size(); ++i) {
      set_[i] = ::sigaction(kEndings[i], nullptr, &before_[i]) == 0 &&
                before_[i].sa_handler == SIG_DFL && ::sigaction(kEndings[i], &action, nullptr) == 0;
    }
  }
  ~Handlers() {
    for (std::size_t i = 0; i < kEndings.size(); ++i) {
      if (set_[i]) {
        ::sigaction(kEndings[i], &before_[i], nullptr);
      }
    }
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  std::array<struct sigaction, kEndings.size()> before_{};
  std::array<bool, kEndings.size()> set_{};
};

void Nothing(int /*signal*/) {}

}  // namespace

struct TemporaryFile::Parts {
  explicit Parts(int of) : folder(of) {}
  UniqueFd folder;
  Handlers handlers;
  std::unique_ptr<UniqueFd> file;
};

UniqueFd::~UniqueFd() {
  Close();
}

int UniqueFd::Close() {
  const int failed = fd_ >= 0 && ::close(fd_) != 0 ? errno : 0;
  fd_ = -1;
  return failed;
}

TemporaryFile::TemporaryFile() = default;

TemporaryFile::~TemporaryFile() {
  if (const int folder = g_pending.folder.exchange(-1); parts_ && folder >= 0) {
    ::unlinkat(folder, g_pending.name.data(), 0);
  }
}

int TemporaryFile::Make(const std::string& folder, std::string_view begin, std::string_view ending,
                        unsigned mode) {
  const int opened = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) {
    return errno;
  }
  g_pending.writer = ::pthread_self();
  parts_ = std::make_unique<Parts>(opened);
  std::random_device random;
  int fd = -1;
  int failed = EEXIST;
  for (int tries = 0; fd < 0 && failed == EEXIST && tries < kMaxTries; ++tries) {
    const std::uint64_t number = std::uint64_t{random()} << 32U | random();
    const auto written =
        fmt::format_to_n(g_pending.name.data(), kMaxName - 1, "{}{:016x}{}", begin, number, ending);
    *written.out = '\0';
    // Known before it exists: a signal that comes in between removes nothing.
    g_pending.folder = opened;
    fd = ::openat(opened, g_pending.name.data(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) {
      failed = errno;
      g_pending.folder = -1;
    }
  }
  if (fd < 0) {
    parts_.reset();
    return failed;
  }
  parts_->file = std::make_unique<UniqueFd>(fd);
  return 0;
}

int TemporaryFile::Write(std::string_view bytes) {
  return WriteAll(fd(), bytes);
}

int TemporaryFile::KeepAs(const std::string& name) {
  if (const int failed = parts_->file->Close(); failed != 0) {
    return failed;
  }
  const int folder = parts_->folder.get();
  if (::renameat(folder, g_pending.name.data(), folder, name.c_str()) != 0) {
    return errno;
  }
  g_pending.folder = -1;
  return 0;
}

int TemporaryFile::Keep() {
  const int failed = parts_->file->Close();
  if (failed == 0) {
    g_pending.folder = -1;
  }
  return failed;
}

int TemporaryFile::fd() const {
  return parts_->file->get();
}

std::string TemporaryFile::name() const {
  return g_pending.name.data();
}

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return 0;
}

void SurviveFileSizeLimit() {
  // A handler and not SIG_IGN, which a program started from here would inherit.
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = Nothing;
  action.sa_flags = SA_RESTART;
  if (::sigaction(SIGXFSZ, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
    ::sigaction(SIGXFSZ, &action, nullptr);
  }
}

}  // namespace memtool::commands
