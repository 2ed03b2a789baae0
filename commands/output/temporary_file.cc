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
#include <optional>
#include <random>
#include <utility>

namespace memtool::commands {

namespace {

// What end a program unless it asks otherwise, and can be caught.
constexpr std::array kEndings{SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGALRM,
                              SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGVTALRM};
constexpr std::size_t kMaxName = 64;
constexpr int kMaxTries = 100;

struct Unfinished {
  int folder;
  std::array<char, kMaxName> name{};

  void Remove() const { ::unlinkat(folder, name.data(), 0); }
};

// All that the handler reaches. The writer is the thread whose system calls make, rename and forget
// the file: the handler runs on it alone, so that nothing is made after it has looked.
struct Pending {
  std::atomic<const Unfinished*> file{nullptr};
  pthread_t writer{};
};
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): handlers reach nothing else
Pending g_pending;
bool g_own_signals = false;  // set before there are threads
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void RemoveAndEnd(int signal) {
  if (::pthread_equal(::pthread_self(), g_pending.writer) == 0) {
    ::pthread_kill(g_pending.writer, signal);
    return;
  }
  if (const Unfinished* file = g_pending.file.exchange(nullptr)) {
    file->Remove();
  }
  // As if there were no handler, so that the exit status names the signal: it arrives again when
  // this one returns.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// While it lives, signals that would end the program remove `file` first. What the user chose to
// ignore (nohup) stays ignored.
class Handlers {
 public:
  explicit Handlers(const Unfinished& file) {
    g_pending.writer = ::pthread_self();
    g_pending.file = &file;
    struct sigaction action {};
    action.sa_handler = RemoveAndEnd;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < kEndings.size(); ++i) {
      set_[i] = ::sigaction(kEndings[i], nullptr, &before_[i]) == 0 &&
                before_[i].sa_handler == SIG_DFL && ::sigaction(kEndings[i], &action, nullptr) == 0;
    }
  }
  ~Handlers() {
    g_pending.file = nullptr;
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
  explicit Parts(int of) : folder(of), unfinished{of} {}

  UniqueFd folder;
  Unfinished unfinished;
  std::optional<Handlers> handlers;  // until it is kept, after OwnSignals()
  std::optional<UniqueFd> file;
  bool kept = false;

  void SetKept() {
    kept = true;
    handlers.reset();
  }
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
  if (parts_ && !parts_->kept) {
    parts_->unfinished.Remove();
  }
}

int TemporaryFile::Make(const std::string& folder, std::string_view begin, std::string_view ending,
                        unsigned mode) {
  const int opened = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) {
    return errno;
  }
  auto parts = std::make_unique<Parts>(opened);
  std::array<char, kMaxName>& name = parts->unfinished.name;
  std::random_device random;
  int fd = -1;
  int failed = EEXIST;
  for (int tries = 0; fd < 0 && failed == EEXIST && tries < kMaxTries; ++tries) {
    const std::uint64_t number = std::uint64_t{random()} << 32U | random();
    const auto written =
        fmt::format_to_n(name.data(), kMaxName - 1, "{}{:016x}{}", begin, number, ending);
    *written.out = '\0';
    if (g_own_signals) {
      // Before the file exists: a signal that comes in between removes nothing.
      parts->handlers.emplace(parts->unfinished);
    }
    fd = ::openat(opened, name.data(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) {
      failed = errno;
      parts->handlers.reset();
    }
  }
  if (fd < 0) {
    return failed;
  }
  parts->file.emplace(fd);
  parts_ = std::move(parts);
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
  if (::renameat(folder, parts_->unfinished.name.data(), folder, name.c_str()) != 0) {
    return errno;
  }
  parts_->SetKept();
  return 0;
}

int TemporaryFile::Keep() {
  const int failed = parts_->file->Close();
  if (failed == 0) {
    parts_->SetKept();
  }
  return failed;
}

int TemporaryFile::fd() const {
  return parts_->file->get();
}

std::string TemporaryFile::name() const {
  return parts_->unfinished.name.data();
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

void OwnSignals() {
  g_own_signals = true;
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
