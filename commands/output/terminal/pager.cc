#include "output/terminal/pager.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include "output/escape.h"

namespace memtool::commands {

namespace {

std::string PagerCommand() {
  for (const char* name : {"MEMTOOL_PAGER", "PAGER"}) {
    if (const char* value = std::getenv(name)) {
      return value;
    }
  }
  return "less";
}

// The words of a command that needs no shell; others are for one.
std::vector<std::string> WordsOf(const std::string& command) {
  if (command.find_first_of("|&;<>()$`\\\"'*?[#~=%{}") != std::string::npos) {
    return {"sh", "-c", command};
  }
  std::istringstream text(command);
  std::vector<std::string> words;
  for (std::string word; text >> word;) {
    words.push_back(word);
  }
  return words;
}

}  // namespace

PagedOutput::PagedOutput(int fd) : fd_(fd), direct_(fd) {
  struct winsize size {};
  const char* term = std::getenv("TERM");
  const bool plain = term == nullptr || std::string_view(term) == "dumb";
  if (!plain && ::isatty(fd) != 0 && ::ioctl(fd, TIOCGWINSZ, &size) == 0) {
    rows_ = size.ws_row;
    width_ = size.ws_col;
  }
}

PagedOutput::~PagedOutput() {
  (void)PagedOutput::Flush();
  if (pager_ != 0) {
    piped_.reset();
    ::close(pipe_);
    int status = 0;
    while (::waitpid(pager_, &status, 0) < 0 && errno == EINTR) {
    }
  }
}

bool PagedOutput::IsLong() const {
  std::size_t rows = 1;  // the next prompt
  for (std::string_view rest = held_; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    // Colours count as columns here: at worst the pager is started a line early.
    rows += 1 + (width_ == 0 || line.empty() ? 0 : (DisplayWidth(line) - 1) / width_);
  }
  return rows > rows_;
}

void PagedOutput::StartPager() {
  rows_ = 0;
  std::vector<std::string> words = WordsOf(PagerCommand());
  std::array<int, 2> ends{-1, -1};
  if (!words.empty() && words.front() != "cat" && ::pipe2(ends.data(), O_CLOEXEC) == 0) {
    if (before_output_) {
      std::exchange(before_output_, {})();
    }
    // As git sets them: colours as they are, nothing to page on one screen.
    ::setenv("LESS", "FRX", 0);
    ::setenv("LV", "-c", 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    if (::posix_spawnp(&pager_, words.front().c_str(), &actions, nullptr, arguments.data(),
                       environ) == 0) {
      pipe_ = ends[1];
      piped_ = std::make_unique<FdSink>(pipe_);
      // The pager's reader interrupts the pager; this program ends when nobody reads on (SIGPIPE).
      (void)std::signal(SIGINT, SIG_IGN);
    } else {
      pager_ = 0;
      ::close(ends[1]);
    }
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[0]);
  }
  Target().WriteBytes(std::exchange(held_, {}));
}

void PagedOutput::WriteBytes(std::string_view bytes) {
  if (rows_ == 0) {
    Target().WriteBytes(bytes);
    return;
  }
  held_ += bytes;
  if (IsLong()) {
    StartPager();
  }
}

Result<void> PagedOutput::Flush() {
  if (!held_.empty()) {
    direct_.WriteBytes(std::exchange(held_, {}));
  }
  return Target().Flush();
}

void PagedOutput::Discard() {
  held_.clear();
  Target().Discard();
}

void PagedOutput::BeforeOutput(const std::function<void()>& call) {
  before_output_ = call;
  direct_.BeforeOutput(call);
}

}  // namespace memtool::commands
