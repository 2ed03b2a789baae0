// One line on the terminal for whatever takes longer than a second: how much has been read, then
// that the answer is being worked out. Never off a terminal; gone before anything else is printed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "output/sink.h"

namespace memtool::commands {

class Progress {
 public:
  // `err`: where the line goes; without a terminal behind it nothing ever happens.
  explicit Progress(Sink& err);
  ~Progress() { Stop(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // How many bytes there are to read in all; 0 = unknown.
  void Expect(std::uint64_t bytes) { expected_ += bytes; }
  // Counts bytes read; from any thread.
  void Read(std::uint64_t bytes) { read_ += bytes; }
  // Removes the line for good.
  void Stop();

  // "reading 1.20 GiB of 4.00 GiB (30%), 12 s".
  static std::string Text(std::uint64_t read, std::uint64_t expected, std::chrono::seconds since);

 private:
  void Run();

  Sink& err_;
  unsigned width_;
  std::atomic<std::uint64_t> expected_ = 0;
  std::atomic<std::uint64_t> read_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace memtool::commands
