#include "session/progress.h"

#include <fmt/format.h>

#include <system_error>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"

namespace memtool::commands {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kTick = std::chrono::milliseconds(200);

}  // namespace

Progress::Progress(Sink& err) : err_(err), width_(err.TerminalWidth()) {
  if (width_ > 0) {
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): no thread, no progress
    }
  }
}

void Progress::Stop() {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::string Progress::Text(std::uint64_t read, std::uint64_t expected, std::chrono::seconds since) {
  const auto size = [](std::uint64_t bytes) {
    return FormatSize(static_cast<std::int64_t>(bytes));
  };
  std::string text = "working out the answer";
  if (expected == 0 && read > 0) {
    text = fmt::format("reading: {} so far", size(read));
  } else if (read < expected) {
    text = fmt::format("reading {} of {} ({:.0f}%)", size(read), size(expected),
                       100.0 * static_cast<double>(read) / static_cast<double>(expected));
  }
  return fmt::format("{}, {} s", text, since.count());
}

void Progress::Run() {
  const auto begin = Clock::now();
  std::unique_lock lock(mutex_);
  const auto stopped = [this] { return stopping_; };
  if (wake_.wait_for(lock, kPatience, stopped)) {
    return;
  }
  do {
    const auto since = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin);
    const std::string text = "memtool: " + Text(read_, expected_, since);
    err_.Write(VisibleText().EraseLine().Append(text.substr(0, width_ > 1 ? width_ - 1 : 0)));
    (void)err_.Flush();
  } while (!wake_.wait_for(lock, kTick, stopped));
  err_.Write(VisibleText().EraseLine());
  (void)err_.Flush();
}

}  // namespace memtool::commands
