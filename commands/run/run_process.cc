#include "run/run_process.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace memtool::commands {

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): handlers reach nothing else
volatile sig_atomic_t g_child = 0;

constexpr int kSignals = 65;  // 1 to 64, of which the C library keeps two
constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

template <std::size_t kSize>
constexpr bool Holds(const std::array<int, kSize>& signals, int signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

// What no handler can have, what the shell's job control needs us to obey, and what waiting needs.
bool IsPassedOn(int signal) {
  return !Holds(std::array{SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD}, signal);
}

void PassOn(int signal, siginfo_t* info, void* /*context*/) {
  const bool from_kernel = info->si_code > 0;
  // The terminal sends these to the program as well.
  if (info->si_code == SI_KERNEL && Holds(std::array{SIGINT, SIGQUIT, SIGWINCH}, signal)) {
    return;
  }
  // A fault of our own ends us: the handler is removed and the instruction runs again.
  if (from_kernel && Holds(kFaults, signal)) {
    ::signal(signal, SIG_DFL);
    return;
  }
  // abort() and a closed pipe are our own too.
  if (!from_kernel && info->si_pid == ::getpid()) {
    return;
  }
  if (g_child > 0) {
    ::kill(g_child, signal);
  }
}

// While this lives, signals are passed on and an ended child can be waited for, whatever
// dispositions were inherited. The program gets the inherited ones.
class Signals {
 public:
  Signals() {
    struct sigaction action {};
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    action.sa_sigaction = PassOn;
    for (int signal = 1; signal < kSignals; ++signal) {
      if (IsPassedOn(signal)) {
        Set(signal, action);
      }
    }
    struct sigaction waited_for {};
    waited_for.sa_handler = SIG_DFL;
    Set(SIGCHLD, waited_for);
  }
  ~Signals() { Restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void Restore() const {
    for (std::size_t signal = 1; signal < kSignals; ++signal) {
      if (set_[signal]) {
        ::sigaction(static_cast<int>(signal), &before_[signal], nullptr);
      }
    }
  }

 private:
  void Set(int signal, const struct sigaction& action) {
    const auto at = static_cast<std::size_t>(signal);
    set_[at] = ::sigaction(signal, &action, &before_[at]) == 0;
  }

  std::array<struct sigaction, kSignals> before_{};
  std::array<bool, kSignals> set_{};
};

[[noreturn]] void Execute(std::vector<char*>& words, Streams& streams) {
  ::execvp(words.front(), words.data());
  const int reason = errno;
  Warn(streams, fmt::format("{}: {}", words.front(), std::strerror(reason)));
  (void)streams.err.Flush();
  ::_exit(reason == ENOENT ? kRunNotFound : kRunCannotRun);
}

}  // namespace

int RunProgram(std::vector<std::string>& words, Streams& streams) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  (void)streams.err.Flush();
  (void)streams.out.Flush();
  const Signals signals;
  // The child may run, and a signal arrive, before its pid is known here.
  sigset_t all{};
  sigset_t before{};
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) {
    signals.Restore();
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    Execute(arguments, streams);
  }
  g_child = child;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    Warn(streams, fmt::format("cannot start a process: {}", std::strerror(errno)));
    return kRunOwnFailure;
  }
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  g_child = 0;
  if (ended < 0) {
    Warn(streams, fmt::format("how the program ended is not known: {}", std::strerror(errno)));
    return kRunOwnFailure;
  }
  return WIFSIGNALED(status) ? kRunSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace memtool::commands
