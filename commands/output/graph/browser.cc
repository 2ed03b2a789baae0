#include "output/graph/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/memory_bound.h"

namespace memtool::commands {

namespace {

using Words = std::vector<std::string>;

Words Split(const std::string& text, char separator) {
  Words words;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) {
      words.push_back(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return words;
}

std::vector<Words> Candidates() {
  std::vector<Words> candidates;
  if (const char* chosen = std::getenv("BROWSER")) {
    for (const std::string& command : Split(chosen, ':')) {
      candidates.push_back(Split(command, ' '));
    }
  }
  for (const char* name : {"chrome", "google-chrome", "chromium", "firefox", "sensible-browser"}) {
    candidates.push_back({name});
  }
  // Without a desktop it would open a text browser in this terminal, or nothing.
  if (std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr) {
    candidates.push_back({"xdg-open"});
  }
  return candidates;
}

// True when, a moment after its start, the child is still running or has succeeded: a browser that
// cannot show anything gives up at once.
bool Survives(pid_t child) {
  constexpr int kChecks = 20;
  constexpr std::chrono::milliseconds kPause{50};
  for (int i = 0; i < kChecks; ++i) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) {
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

bool Start(Words words, const std::string& path) {
  if (words.empty()) {
    return false;
  }
  words.push_back(path);
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  }
  const Unbounded unbounded;
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed == 0 && Survives(child);
}

}  // namespace

std::string OpenInBrowser(const std::string& path) {
  for (const Words& candidate : Candidates()) {
    if (Start(candidate, path)) {
      return candidate[0];
    }
  }
  return {};
}

}  // namespace memtool::commands
