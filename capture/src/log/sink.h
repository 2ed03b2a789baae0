// The log file: reserved ahead, mapped a piece at a time, chunked, committed record by record. The
// caller holds the log's lock around every call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "log/log_file.h"
#include "wire.h"

namespace memtool::capture {

class Sink {
 public:
  // Room for a record of at most `most` bytes, or nullptr when the log has stopped. The first call
  // creates the file, or a later one when that failed for a temporary reason. The record may be the
  // first of a new chunk: see chunk().
  std::uint8_t* Begin(std::size_t most, std::int64_t now);
  // The record ends at `end`; from here on it survives the process.
  void Commit(const std::uint8_t* end);
  // Number of the open chunk, from 1; delta encoding starts anew in each.
  [[nodiscard]] std::uint32_t chunk() const { return chunk_; }
  [[nodiscard]] std::int64_t chunk_time() const { return chunk_time_; }
  // Time 0 of the log, on the monotonic clock.
  [[nodiscard]] std::int64_t start() const { return start_; }
  // The live header, or nullptr when there is no file.
  wire::Header* header() { return header_; }
  [[nodiscard]] const char* path() const { return path_; }
  [[nodiscard]] bool stopped() const { return stopped_; }

  // For the header, now or when there is one.
  void SetBackend(wire::Backend backend, std::uint32_t status, const char* subscriber);

  [[nodiscard]] wire::Backend backend() const { return backend_; }

  // Seals the last chunk and cuts the file to what it holds. What is recorded afterwards, by
  // destructors and threads that outlive main, goes into separate chunks, which nobody seals.
  void Close();
  // From a signal handler that interrupted the sink and never returns, because the process ends.
  // Nothing is written afterwards.
  void Abandon();
  // In a child forked by such a handler, where the handler does return: what is written from here
  // on is discarded, until Forget.
  void Detach();
  // In a forked child: lets go of the parent's file. The next Begin makes a new one.
  void Forget(std::uint64_t* forked_from);

 private:
  bool Open(std::int64_t now);
  int Create(std::int64_t now);  // the file with its header; 0, or the errno
  bool NoLog(const char* why);
  std::uint8_t* MapHeader(const char** refused);
  wire::Stop Reserve(std::uint64_t at, std::size_t* size);
  void FillHeader(wire::Header& header, std::int64_t now);
  void WriteBackend(wire::Header& header) const;
  bool NextChunk(std::int64_t now);
  void Seal();
  bool Grow();
  void Stop(wire::Stop reason);

  wire::Header* header_ = nullptr;
  std::uint8_t* extent_ = nullptr;  // mapped piece of the file
  std::uint64_t extent_at_ = 0;     // its place in the file
  std::size_t extent_size_ = 0;
  std::uint64_t chunk_at_ = 0;  // place of the open chunk in the file
  std::uint8_t* at_ = nullptr;
  std::uint8_t* end_ = nullptr;
  std::uint32_t chunk_ = 0;
  std::int64_t start_ = 0;
  std::int64_t chunk_time_ = 0;
  std::uint64_t forked_from_ = 0;
  LogFile file_;
  // While the file cannot be made for a temporary reason:
  int unmade_ = 0;           // the errno
  std::uint32_t wait_ = 0;   // events until the next attempt
  std::uint32_t pause_ = 0;  // events between the last two, or nearly
  bool stopped_ = false;
  bool detached_ = false;
  bool closed_ = false;
  wire::Backend backend_ = wire::Backend::kPreload;
  std::uint32_t backend_status_ = 0;
  char subscriber_[64] = "";
  char path_[4096] = "";
};

}  // namespace memtool::capture
