// Standard output of a terminal: what is longer than its screen goes through a pager.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "output/sink.h"

namespace memtool::commands {

// As git and man choose it: $MEMTOOL_PAGER, else $PAGER, else less; an empty one, or cat, is none.
// Where standard output is no terminal, or the pager cannot be started, bytes go out as they are.
class PagedOutput final : public Sink {
 public:
  explicit PagedOutput(int fd);
  // Waits until the reader has closed the pager.
  ~PagedOutput() override;
  PagedOutput(const PagedOutput&) = delete;
  PagedOutput& operator=(const PagedOutput&) = delete;

  void WriteBytes(std::string_view bytes) override;
  Result<void> Flush() override;
  void Discard() override;
  [[nodiscard]] unsigned TerminalWidth() const override { return direct_.TerminalWidth(); }
  void BeforeOutput(const std::function<void()>& call) override;

 private:
  // Whether so much fills the screen.
  [[nodiscard]] bool IsLong() const;
  void StartPager();
  Sink& Target() { return piped_ ? *piped_ : static_cast<Sink&>(direct_); }

  int fd_;
  std::size_t rows_ = 0;  // of the screen, while it is not known whether it is enough; else 0
  std::size_t width_ = 0;
  std::string held_;
  std::function<void()> before_output_;
  FdSink direct_;
  int pipe_ = -1;
  pid_t pager_ = 0;
  std::unique_ptr<FdSink> piped_;
};

}  // namespace memtool::commands
