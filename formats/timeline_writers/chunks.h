// Output in chunks: what is added goes to a ByteSink 64 KiB at a time. After an error of the sink
// nothing more is handed to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "memtool/formats/writer.h"

namespace memtool::formats {

class Chunks {
 public:
  explicit Chunks(const ByteSink& sink) : sink_(sink) {}

  void Add(std::string_view bytes) {
    pending_ += bytes;
    if (pending_.size() >= kChunk) {
      Hand();
    }
  }
  // Hands over the rest. Errors: the first one of the sink.
  Result<void> Finish() {
    Hand();
    return state_;
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{64} << 10U;

  void Hand() {
    if (state_ && !pending_.empty()) {
      state_ = sink_(pending_);
    }
    pending_.clear();
  }

  const ByteSink& sink_;
  std::string pending_;
  Result<void> state_;
};

}  // namespace memtool::formats
