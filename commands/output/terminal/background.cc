#include "output/terminal/background.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

namespace memtool::commands {

namespace {

constexpr std::chrono::milliseconds kPatience{200};
// The background's colour; then the terminal's attributes (DA1), which every terminal tells: when
// they come there is nothing more to wait for.
constexpr std::string_view kQuestion = "\x1b]11;?\x1b\\\x1b[c";
constexpr std::string_view kEndOfAnswer = "\x1b[?";

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

std::optional<double> Fraction(std::string_view digits) {
  unsigned value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.size() > 4) {
    return std::nullopt;
  }
  return static_cast<double>(value) / ((1U << (4 * digits.size())) - 1);
}

// A terminal whose line discipline hands over each byte, without an echo, while this lives; signals
// wait, so that it is always set back.
class Unbuffered {
 public:
  explicit Unbuffered(int fd) : fd_(fd) {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &signals_);
    set_ = ::tcgetattr(fd_, &before_) == 0;
    struct termios wanted = before_;
    wanted.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    wanted.c_cc[VMIN] = 0;
    wanted.c_cc[VTIME] = 0;
    set_ = set_ && ::tcsetattr(fd_, TCSANOW, &wanted) == 0;
  }
  ~Unbuffered() {
    if (set_) {
      (void)::tcsetattr(fd_, TCSANOW, &before_);
    }
    ::pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  }
  Unbuffered(const Unbuffered&) = delete;
  Unbuffered& operator=(const Unbuffered&) = delete;

  explicit operator bool() const { return set_; }

 private:
  int fd_;
  bool set_ = false;
  struct termios before_ {};
  sigset_t signals_{};
};

bool IsComplete(std::string_view answer) {
  const std::size_t end = answer.find(kEndOfAnswer);
  return end != std::string_view::npos && answer.find('c', end) != std::string_view::npos;
}

std::string Ask(int fd) {
  const Unbuffered mode(fd);
  int waiting = 0;
  std::string answer;
  if (!mode || ::ioctl(fd, FIONREAD, &waiting) != 0 || waiting > 0 ||
      ::write(fd, kQuestion.data(), kQuestion.size()) != static_cast<ssize_t>(kQuestion.size())) {
    return answer;
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!IsComplete(answer) && answer.size() < 1024) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    struct pollfd ready {
      .fd = fd, .events = POLLIN, .revents = 0
    };
    std::array<char, 256> bytes{};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      break;
    }
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    if (got <= 0) {
      break;
    }
    answer.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return answer;
}

std::optional<Theme> AskTerminal() {
  const std::string_view term = Environment("TERM");
  if (term.empty() || term == "dumb" || !Environment("SSH_CONNECTION").empty() ||
      (term.starts_with("screen") && Environment("TMUX").empty())) {
    return std::nullopt;
  }
  const int fd = ::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) {
    return std::nullopt;
  }
  const std::string answer = ::tcgetpgrp(fd) == ::getpgrp() ? Ask(fd) : std::string();
  ::close(fd);
  return ThemeOfAnswer(answer);
}

}  // namespace

std::optional<Theme> ThemeOfColorFgBg(std::string_view text) {
  text.remove_prefix(text.rfind(';') + 1);  // npos + 1 = 0
  int color = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), color);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  // Of 16 colours, 7 and those from 9 on are light; as Vim has it.
  return color < 7 || color == 8 ? Theme::kDark : Theme::kLight;
}

std::optional<Theme> ThemeOfAnswer(std::string_view text) {
  constexpr std::string_view kBegin = "\x1b]11;rgb";
  const std::size_t begin = text.find(kBegin);
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(begin + kBegin.size());
  text.remove_prefix(std::min(text.size(), text.find(':') + 1));  // "rgb:", "rgba:"
  std::array<double, 3> parts{};
  for (double& part : parts) {
    const std::size_t digits =
        std::min(text.find_first_not_of("0123456789abcdefABCDEF"), text.size());
    const auto fraction = Fraction(text.substr(0, digits));
    if (!fraction) {
      return std::nullopt;
    }
    part = *fraction;
    text.remove_prefix(std::min(text.size(), digits + 1));
  }
  const double light = 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2];
  return light < 0.5 ? Theme::kDark : Theme::kLight;
}

std::optional<Theme> ThemeOfTerminal() {
  static const std::optional<Theme> theme = [] {
    const auto told = ThemeOfColorFgBg(Environment("COLORFGBG"));
    return told ? told : AskTerminal();
  }();
  return theme;
}

}  // namespace memtool::commands
